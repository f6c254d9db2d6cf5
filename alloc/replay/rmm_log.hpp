// Reads the CSV log of RMM's logging adaptor as a trace: Thread,Time,Action,Pointer,Size,Stream.
//
// Such a log knows who was allocated and freed, and when, but not who was used. So each row becomes
// one operation as well, which takes the time since the row before: it writes the block that was
// allocated, or reads the one that is freed. What happens in between is not seen, and a replay moves
// less than the program would have made it move.
//
// Failed allocations and frees of what was allocated before the log began are left out.
//
// Thread safety: stateless.
#pragma once

#include <istream>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "replay/trace.hpp"

namespace tessera {

// Whether this first line is that of such a log.
bool is_rmm_log(std::string_view first_line);
// What follows the first line. Errors: kInvalidArgument with "name:line: reason".
Result<Trace> read_rmm_log(std::istream& lines, const std::string& name);

}  // namespace tessera
