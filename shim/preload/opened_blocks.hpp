// Blocks of other processes that the program has opened, by a legacy handle or by the export data of a pool's block.
//
// An opened block is memory of another process: it does not move, and is not part of the heap.
//
// Thread safety: any thread. Until a block is opened, closing costs one load.
#pragma once

#include "cuda_api.hpp"
#include "shared_blocks.hpp"

namespace tessera::preload {

// Which call opened a block, and so which one closes it.
enum class OpenedBy { kHandle, kPool };

// Within a context, opening the same block again returns the same address. Errors: INVALID_CONTEXT without a current
// context; INVALID_HANDLE if there is no such process or block; the driver's.
CUresult open_block(const SharedBlock& block, OpenedBy by, CUdeviceptr* address);

// False if no such call has opened this address. Otherwise `result` is the program's result; after as many calls as
// opened it the memory is unmapped, once the work of the current context is over.
bool close_block(CUdeviceptr address, OpenedBy by, CUresult& result);

}  // namespace tessera::preload
