// Parameters set by cuParamSet* for kernels that cuLaunch* will launch (old_launch_hooks.cpp).
//
// Thread safety: any thread.
#pragma once

namespace tessera::preload {

// Modules are unloaded, or a context ends together with its modules: the handles of their functions may be reused.
void forget_old_parameters();

}  // namespace tessera::preload
