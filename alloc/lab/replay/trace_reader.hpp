// Reads a trace: JSON Lines (docs/traces.md) or a log of RMM (rmm_log.hpp), plain or compressed (input_text.hpp).
//
// Unknown keys are ignored; anything else that is not understood is an error with its line number, because a partly
// read trace would be replayed as a different one. Only the end may be missing: any prefix of a valid file yields its
// complete lines, and a note in Trace::notes.
//
// Thread safety: stateless.
#pragma once

#include <istream>
#include <string>

#include "base/status.hpp"
#include "lab/replay/trace.hpp"

namespace tessera {

// Errors: those of read_input(); kInvalidArgument with "name:line: reason".
Result<Trace> read_trace(const std::string& path);
Result<Trace> read_trace(std::istream& lines, const std::string& name);

}  // namespace tessera
