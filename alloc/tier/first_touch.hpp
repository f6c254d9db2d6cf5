// Faults in fresh memory before it is pinned, with several threads.
//
// Why: pinning untouched memory (by a GPU driver, or by the ring of the file tier) makes the kernel find and clear
// every page on the calling thread. With the memory cleared first, in parallel pieces, pinning takes only the time to
// look the pages up.
//
// Thread safety: every call may be made from any thread. Its threads have ended on return, so a fork cannot lose them.
#pragma once

#include "base/units.hpp"

namespace tessera {

// The number of threads worthwhile for `bytes`, within the processors of this thread: 1 to 8, and 8 saturate a memory
// controller.
unsigned touching_threads(Bytes bytes);

// Makes every page of the range present. Threads that cannot be started are done without. Returns 0, or the errno of a
// piece that the machine refused. REQUIRES: the range is writable, page-aligned, and without contents: bytes in it may
// become zero; `threads` is not 0.
[[nodiscard]] int touch_first(void* start, Bytes bytes, unsigned threads);

}  // namespace tessera
