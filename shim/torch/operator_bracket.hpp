// The blocks that the active operators of this thread keep in device memory.
//
// A pin and not an announced use, because an operator allocates while it runs: a thread in an announced use may make no
// other call. If a pinned block prevents an allocation, the program gets an error; a held one would be waited for
// forever.
//
// Thread safety: all state is thread-local.
#pragma once

#include <cstddef>

#include "tessera/tessera.h"

namespace tessera::torch {

// As tessera_torch_begin and tessera_torch_end.
tessera_result begin_operator(tessera_allocator* allocator, const tessera_address* addresses, std::size_t count,
                              std::size_t written);
tessera_result end_operator(tessera_allocator* allocator, tessera_stream stream);
bool in_operator();
// A block allocated by this thread inside the bracket is kept as well.
tessera_result keep_new_block(tessera_allocator* allocator, tessera_address address);
// The block is about to be freed: its pin would outlive it.
void let_go(tessera_allocator* allocator, tessera_address address);

}  // namespace tessera::torch
