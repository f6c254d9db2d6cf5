// nvrtc.h with its functions exported, since this library defines them.
//
// Thread safety: declarations.
#pragma once

#pragma GCC visibility push(default)
#include <nvrtc.h>
#pragma GCC visibility pop
