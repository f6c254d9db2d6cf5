// Reads a trace: JSON Lines (DESIGN §8) or a log of RMM (rmm_log.hpp), plain or compressed with zstd.
//
// Unknown keys are ignored; anything else that is not understood is an error with its line number,
// because a trace that is read in part would be replayed as something else.
//
// Thread safety: stateless.
#pragma once

#include <istream>
#include <string>

#include "base/status.hpp"
#include "replay/trace.hpp"

namespace tessera {

// Errors: kIo when the file cannot be read; kInvalidArgument with "name:line: reason".
Result<Trace> read_trace(const std::string& path);
Result<Trace> read_trace(std::istream& lines, const std::string& name);

}  // namespace tessera
