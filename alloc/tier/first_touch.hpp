// Backs fresh memory with pages before anybody pins it, by several threads at once.
//
// Why: whoever pins memory that nothing has touched (a GPU's driver, the ring of the file tier) has the
// kernel find and clear every page on the one thread that asked. Cleared first, and in pieces, the same
// memory is pinned in the time it takes to look the pages up.
//
// Thread safety: every call may be made from any thread. Its threads have ended when it returns, so
// there are none for a fork to lose.
#pragma once

#include "base/units.hpp"

namespace tessera {

// As many threads as `bytes` are worth and this thread may have processors: at least one, at most
// eight, which is more than one memory controller can feed.
unsigned touching_threads(Bytes bytes);

// Makes every page of the range present. A thread that cannot be had is done without.
// Returns 0, or the errno of a piece that the machine refused. REQUIRES: the range is writable, starts
// at a page, and holds nothing: bytes in it may become zero; `threads` is not 0.
[[nodiscard]] int touch_first(void* start, Bytes bytes, unsigned threads);

}  // namespace tessera
