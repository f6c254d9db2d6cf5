// Copies of rectangles and boxes: like linear copies, with the extents taken from a descriptor.
//
// They may access any kind of host memory, so none of them blocks other threads while it runs.
#include "box_extents.hpp"
#include "copied_words.hpp"
#include "cuda_api.hpp"
#include "managed_use.hpp"
#include "true_driver.hpp"

using namespace tessera::preload;

namespace {

template <class Copy, class Function, class... Args>
CUresult copy_shape(const char* call, CUstream stream, Function TrueDriver::*function, const Copy* copy, Args... args) {
  const Extent target = target_of(copy);
  const CUresult result = with_blocks({source_of(copy), target}, stream, Waits::kMay, call, function, copy, args...);
  if (result == CUDA_SUCCESS && target.bytes != 0 && is_whole(target_box(copy))) {
    note_overwritten(target.address, target.bytes, stream);
  }
  return result;
}

}  // namespace

TESSERA_HOOK_PTDS(cuMemcpy2D_v2, (const CUDA_MEMCPY2D_v2* copy),
                  { return copy_shape("cuMemcpy2D", stream, True, copy); })

TESSERA_HOOK_PTDS(cuMemcpy2DUnaligned_v2, (const CUDA_MEMCPY2D_v2* copy),
                  { return copy_shape("cuMemcpy2DUnaligned", stream, True, copy); })

TESSERA_HOOK_PTSZ(cuMemcpy2DAsync_v2, (const CUDA_MEMCPY2D_v2* copy, CUstream given),
                  { return copy_shape("cuMemcpy2DAsync", stream, True, copy, given); })

TESSERA_HOOK_PTDS(cuMemcpy3D_v2, (const CUDA_MEMCPY3D_v2* copy),
                  { return copy_shape("cuMemcpy3D", stream, True, copy); })

TESSERA_HOOK_PTSZ(cuMemcpy3DAsync_v2, (const CUDA_MEMCPY3D_v2* copy, CUstream given),
                  { return copy_shape("cuMemcpy3DAsync", stream, True, copy, given); })

TESSERA_HOOK_PTDS(cuMemcpy3DPeer, (const CUDA_MEMCPY3D_PEER_v1* copy),
                  { return copy_shape("cuMemcpy3DPeer", stream, True, copy); })

TESSERA_HOOK_PTSZ(cuMemcpy3DPeerAsync, (const CUDA_MEMCPY3D_PEER_v1* copy, CUstream given),
                  { return copy_shape("cuMemcpy3DPeerAsync", stream, True, copy, given); })
