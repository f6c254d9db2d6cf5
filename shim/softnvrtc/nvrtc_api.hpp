// nvrtc.h, with every function in it visible from outside: the library is what defines them.
//
// Thread safety: declarations.
#pragma once

#pragma GCC visibility push(default)
#include <nvrtc.h>
#pragma GCC visibility pop
