// Reads the CSV log of RMM's logging adaptor as a trace: Thread,Time,Action,Pointer,Size,Stream.
//
// Such a log has the time of each allocation and free, but not which kernels used a block. So each row also becomes an
// operation, which takes the time since the row before: it writes the block that was allocated, or reads the one that
// is freed. Uses in between are not visible, so a replay moves less than the program would have caused.
//
// Logs differ by version and by collector: null pointers are 0x0, 0 or (nil), fractions of a second follow a point or a
// colon, the first line may be missing (Spark's plugin writes rows into the output of its executors), and lines of
// other programs may be mixed in. Lines that are not rows are skipped and counted. Failed allocations, blocks of zero
// bytes, and frees of allocations from before the log are skipped.
//
// Thread safety: stateless.
#pragma once

#include <istream>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "lab/replay/trace.hpp"

namespace tessera {

// Whether this line is the header of such a log, or one of its rows.
bool is_rmm_log(std::string_view line);
// `first` is the first line, which was already read. Errors: kInvalidArgument with "name:line: reason" when there is no
// row, or an event that is impossible in a program.
Result<Trace> read_rmm_log(std::string_view first, std::istream& lines, const std::string& name);

}  // namespace tessera
