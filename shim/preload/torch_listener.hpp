// Loads what tells Tessera which part of a segment of PyTorch's own allocator is which tensor
// (tessera/torch_listener.h), if it has been built for the PyTorch of this process. Without it segments are whole.
//
// Allocations find out that PyTorch is there; the next launch attaches the listener, since an allocation may be made
// with PyTorch's lock held. `tessera torch-listener` builds it, into the folder of the option `torch-listeners`, under
// a name made from the file of PyTorch's CUDA library.
//
// Thread safety: any thread.
#pragma once

#include "capture.hpp"
#include "launch_facts.hpp"

namespace tessera::preload {

// Call after device memory was taken. Looks for PyTorch at the first call, the second, the fourth and so on.
void look_for_torch();

// Whether a listener is there and was not attached yet. Costs one load.
inline bool torch_listener_is_due() { return detail::launch_facts.torch_listener.load(std::memory_order_relaxed); }
// REQUIRES: the calling thread is in no call of an allocator of PyTorch's.
void attach_torch_listener(CUstream launched_on);

}  // namespace tessera::preload
