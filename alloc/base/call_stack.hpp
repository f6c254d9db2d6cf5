// Where a call came from, as text: for reports that must name the program's own code.
//
// Needs no debug information: a function that the dynamic loader does not know is given by its
// object and its place in it, as addr2line takes it. Slow (some 100 us); for rare events.
//
// Thread safety: any thread.
#pragma once

#include <string>
#include <vector>

namespace tessera {

// Innermost first, at most 32 frames: "train_step (libmodel.so+0x1a2b)". Frames of the library that
// holds this function are left out at the inner end, unless it is linked into the program itself.
std::vector<std::string> call_stack();

}  // namespace tessera
