// Programs with more than one device: which device a stream belongs to.
//
// Completion of work on a block is known from events of the block's device, and these cannot be recorded on streams of
// another device. So work on a block by another device's stream (mostly copies between devices, also in graphs) is
// waited for on the host, with a bound (unfinished_uses.hpp). Kernels are not affected: a block is accessible only to
// kernels of its own device, and programs get this answer (peer_hooks.cpp).
//
// Thread safety: any thread. Until a second device is used, every function costs one load. An InContextOf object
// belongs to the thread that made it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cuda_api.hpp"
#include "in_context.hpp"
#include "lifecycle.hpp"

namespace tessera::preload {

// Whether `stream` belongs to another device than the block.
bool is_foreign(const tessera_block_info& block, CUstream stream);

// The blocks that the words point into, if one of them is foreign or the stream is a green context's default stream;
// else none.
std::vector<tessera_address> blocks_if_foreign(std::span<const std::uint64_t> words, CUstream stream);

// Whether a free of the block at `address` in the order of `stream` has to be waited for on the host: the stream is
// foreign, or a green context's default stream.
bool frees_apart(CUdeviceptr address, CUstream stream);

// Call before a synchronous free: waits for the block's own device, if that is not the current one.
CUresult finish_elsewhere(CUdeviceptr address);

// Makes the context of `stream` current during its lifetime: a stream-ordered allocation belongs to the stream's
// device. Costs one load on a machine with one device.
class InContextOf {
 public:
  explicit InContextOf(CUstream stream);

 private:
  const InContext context_;
};

}  // namespace tessera::preload
