// A part of a program that is reported by itself (tessera/profile.h), of the shared allocator.
//
// Thread safety: any thread.
#pragma once

#include "tessera/tessera.h"

namespace tessera {

// Begins the part that a program has asked for before there was a shared allocator, if any. REQUIRES: nothing has
// happened on this allocator yet.
void begin_awaited_profile(tessera_allocator& allocator);

}  // namespace tessera
