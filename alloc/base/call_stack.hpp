// The call stack as text, for reports that must name the program's own code.
//
// Needs no debug information: a function unknown to the dynamic loader is given as object and offset, the form
// that addr2line takes. Slow (about 100 us); for rare events.
//
// Thread safety: any thread.
#pragma once

#include <string>
#include <vector>

namespace tessera {

// Innermost first, at most 32 frames: "train_step (libmodel.so+0x1a2b)". The innermost frames that belong to
// the library containing this function are left out, unless it is linked into the program itself.
std::vector<std::string> call_stack();

}  // namespace tessera
