// What cuParamSet* said of kernels that cuLaunch* will launch (old_launch_hooks.cpp).
//
// Thread safety: any thread.
#pragma once

namespace tessera::preload {

// Modules are unloaded, or a context ends with its own: their functions' handles may come to mean others.
void forget_old_parameters();

}  // namespace tessera::preload
