// Programs that use more than one device: which one a stream's work is for.
//
// Whether work on a block is over is told by events of the block's device, and these cannot be recorded
// on streams of another. So work on a block that another device's stream does, a copy from device to
// device above all, also in a graph, is waited for on the host. Kernels are not affected: a block is for
// the kernels of its own device, and programs are told so (peer_hooks.cpp).
//
// Thread safety: any thread. Until a second device is used all of it costs one load. An InContextOf belongs
// to the thread that made it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cuda_api.hpp"
#include "lifecycle.hpp"

namespace tessera::preload {

// Whether `stream` carries the work of another device than the block's.
bool is_foreign(const tessera_block_info& block, CUstream stream);

// The blocks that the words name, if one of them is foreign or the stream a green context's default;
// else none.
std::vector<tessera_address> blocks_if_foreign(std::span<const std::uint64_t> words,
                                               CUstream stream);

// Before the program frees the block at `address` on `stream`, whose work it has to outlive: waits for it
// if it is foreign, or a green context's default. Errors: the driver's.
CUresult finish_foreign(CUdeviceptr address, CUstream stream);

// Before the program frees it for good: waits for its own device, if that is not the current one.
CUresult finish_elsewhere(CUdeviceptr address);

// Makes the context of `stream` current for as long as it lives: memory that is allocated in its order is of
// its device. Costs a load where the machine has one device.
class InContextOf {
 public:
  explicit InContextOf(CUstream stream);
  ~InContextOf();
  InContextOf(const InContextOf&) = delete;
  InContextOf& operator=(const InContextOf&) = delete;

 private:
  bool pushed_ = false;
};

}  // namespace tessera::preload
