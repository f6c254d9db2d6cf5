// Reads the CSV log of RMM's logging adaptor as a trace: Thread,Time,Action,Pointer,Size,Stream.
//
// Such a log has each allocation and free with its time, but not which kernels used a block. So each row becomes one
// operation as well, which takes the time since the row before: it writes the block that was allocated, or reads the
// one that is freed. What happens in between is not seen, and a replay moves less than the program would have made it
// move.
//
// Logs differ by version and by what collected them: null pointers are 0x0, 0 or (nil), fractions of a second stand
// behind a point or a colon, the first line may be missing (Spark's plugin writes rows into the output of its
// executors), and lines of other programs may stand between. Lines that are no rows are left out and counted. Failed
// allocations, blocks of no bytes, and frees of what was allocated before the log began are left out.
//
// Thread safety: stateless.
#pragma once

#include <istream>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "replay/trace.hpp"

namespace tessera {

// Whether this line is the first of such a log, or one of its rows.
bool is_rmm_log(std::string_view line);
// `first` is the first line, which is read already. Errors: kInvalidArgument with "name:line: reason" when there is no
// row, or an event that no program could have made.
Result<Trace> read_rmm_log(std::string_view first, std::istream& lines, const std::string& name);

}  // namespace tessera
