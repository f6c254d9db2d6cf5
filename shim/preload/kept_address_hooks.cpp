// Objects and streams that retain an address after the call: textures, tensor maps, memory words.
//
// Kernels access such memory through a descriptor that shows no address, and a stream waiting for a word reads it at
// any time; so the block stays in device memory. Surfaces exist only for arrays, which belong to the driver. A tensor
// map is recognised by its bytes, so its block need not stay.
#include "cuda_api.hpp"
#include "exposure.hpp"
#include "lifecycle.hpp"
#include "memory_operations.hpp"
#include "tensor_maps.hpp"
#include "true_driver.hpp"

using namespace tessera::preload;

namespace {

CUdeviceptr address_of(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

CUdeviceptr address_of(const CUDA_RESOURCE_DESC* resource) {
  if (resource == nullptr) return 0;  // the driver rejects it
  if (resource->resType == CU_RESOURCE_TYPE_LINEAR) return resource->res.linear.devPtr;
  if (resource->resType == CU_RESOURCE_TYPE_PITCH2D) return resource->res.pitch2D.devPtr;
  return 0;
}

template <class Function, class... Args>
CUresult keeping(CUdeviceptr address, const char* call, Function TrueDriver::*function, Args... args) {
  KeptBlocks kept(call);
  const CUresult pinned = kept.add(address);
  return pinned == CUDA_SUCCESS ? kept.after(call_true(function, args...)) : pinned;
}

bool is_live(CUdeviceptr address) {
  tessera_block_info info{};
  info.size = sizeof(info);
  return tessera_query(running(), address, &info) == TESSERA_OK;
}

// Records what `map` stands for; the block stays in device memory only if there are too many maps.
template <class Function, class... Args>
CUresult encoding(CUtensorMap* map, CUdeviceptr tensor, const char* call, Function TrueDriver::*function,
                  Args... args) {
  const CUresult encoded = call_true(function, map, args...);
  if (encoded != CUDA_SUCCESS || !served(tensor)) return encoded;
  return tensor_maps().add(*map, tensor, is_live) ? encoded : expose(tensor, call);
}

// The tensor that `map` stands for; 0 if unknown.
CUdeviceptr tensor_of(const CUtensorMap* map) {
  CUdeviceptr tensor = 0;
  if (map == nullptr || !tensor_maps().any()) return tensor;
  tensor_maps().visit(map, sizeof(*map), [&](std::size_t, CUdeviceptr known) { tensor = known; });
  return tensor;
}

template <class Function, class... Args>
CUresult keeping_on(CUstream stream, CUdeviceptr address, const char* call, Function TrueDriver::*function,
                    Args... args) {
  KeptBlocks kept(call);
  const CUresult pinned = kept.add_on(stream, address);
  return pinned == CUDA_SUCCESS ? kept.after(call_true(function, args...)) : pinned;
}

template <class Function>
CUresult keeping_all(CUstream stream, Function TrueDriver::*function, CUstream given, unsigned count,
                     CUstreamBatchMemOpParams* operations, unsigned flags) {
  KeptBlocks kept("cuStreamBatchMemOp");
  for (unsigned i = 0; operations != nullptr && i < count; ++i) {
    const CUresult pinned = kept.add_on(stream, word_of(operations[i]));
    if (pinned != CUDA_SUCCESS) return pinned;
  }
  return kept.after(call_true(function, given, count, operations, flags));
}

}  // namespace

TESSERA_HOOK cuTexObjectCreate(CUtexObject* texture, const CUDA_RESOURCE_DESC* resource,
                               const CUDA_TEXTURE_DESC* reading, const CUDA_RESOURCE_VIEW_DESC* view) {
  return keeping(address_of(resource), "cuTexObjectCreate", &TrueDriver::cuTexObjectCreate, texture, resource, reading,
                 view);
}

TESSERA_HOOK cuTexRefSetAddress_v2(std::size_t* offset, CUtexref texture, CUdeviceptr address, std::size_t bytes) {
  return keeping(address, "cuTexRefSetAddress", &TrueDriver::cuTexRefSetAddress_v2, offset, texture, address, bytes);
}

TESSERA_HOOK cuTexRefSetAddress2D_v2(CUtexref texture, const CUDA_ARRAY_DESCRIPTOR* shape, CUdeviceptr address,
                                     std::size_t pitch) {
  return keeping(address, "cuTexRefSetAddress2D", &TrueDriver::cuTexRefSetAddress2D_v2, texture, shape, address, pitch);
}

TESSERA_HOOK cuTexRefSetAddress2D_v3(CUtexref texture, const CUDA_ARRAY_DESCRIPTOR* shape, CUdeviceptr address,
                                     std::size_t pitch) {
  return keeping(address, "cuTexRefSetAddress2D", &TrueDriver::cuTexRefSetAddress2D_v3, texture, shape, address, pitch);
}

TESSERA_HOOK cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* tensor,
                                    const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                                    const cuuint32_t* steps, CUtensorMapInterleave interleave,
                                    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                    CUtensorMapFloatOOBfill fill) {
  return encoding(map, address_of(tensor), "cuTensorMapEncodeTiled", &TrueDriver::cuTensorMapEncodeTiled, type, rank,
                  tensor, sizes, strides, box, steps, interleave, swizzle, promotion, fill);
}

TESSERA_HOOK cuTensorMapEncodeIm2col(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* tensor,
                                     const cuuint64_t* sizes, const cuuint64_t* strides, const int* lower,
                                     const int* upper, cuuint32_t channels, cuuint32_t pixels, const cuuint32_t* steps,
                                     CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                     CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  return encoding(map, address_of(tensor), "cuTensorMapEncodeIm2col", &TrueDriver::cuTensorMapEncodeIm2col, type, rank,
                  tensor, sizes, strides, lower, upper, channels, pixels, steps, interleave, swizzle, promotion, fill);
}

TESSERA_HOOK cuTensorMapEncodeIm2colWide(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* tensor,
                                         const cuuint64_t* sizes, const cuuint64_t* strides, int lower, int upper,
                                         cuuint32_t channels, cuuint32_t pixels, const cuuint32_t* steps,
                                         CUtensorMapInterleave interleave, CUtensorMapIm2ColWideMode mode,
                                         CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                         CUtensorMapFloatOOBfill fill) {
  return encoding(map, address_of(tensor), "cuTensorMapEncodeIm2colWide", &TrueDriver::cuTensorMapEncodeIm2colWide,
                  type, rank, tensor, sizes, strides, lower, upper, channels, pixels, steps, interleave, mode, swizzle,
                  promotion, fill);
}

TESSERA_HOOK cuTensorMapReplaceAddress(CUtensorMap* map, void* tensor) {
  return encoding(map, address_of(tensor), "cuTensorMapReplaceAddress", &TrueDriver::cuTensorMapReplaceAddress, tensor);
}

// The result has other bytes, which stand for the same tensor.
TESSERA_HOOK cuTensorMapSetAllocationClass(CUtensorMap* map, CUtensorMapAllocClass requested,
                                           CUtensorMapAllocClass* given) {
  return encoding(map, tensor_of(map), "cuTensorMapSetAllocationClass", &TrueDriver::cuTensorMapSetAllocationClass,
                  requested, given);
}

#define TESSERA_WORD_HOOKS(kind, bits)                                                                                 \
  TESSERA_HOOK_PTSZ(                                                                                                   \
      cuStream##kind##Value##bits, (CUstream given, CUdeviceptr address, cuuint##bits##_t value, unsigned flags),      \
      { return keeping_on(stream, address, "cuStream" #kind "Value" #bits, True, given, address, value, flags); })     \
  TESSERA_HOOK_PTSZ(                                                                                                   \
      cuStream##kind##Value##bits##_v2, (CUstream given, CUdeviceptr address, cuuint##bits##_t value, unsigned flags), \
      { return keeping_on(stream, address, "cuStream" #kind "Value" #bits, True, given, address, value, flags); })

TESSERA_WORD_HOOKS(Wait, 32)
TESSERA_WORD_HOOKS(Wait, 64)
TESSERA_WORD_HOOKS(Write, 32)
TESSERA_WORD_HOOKS(Write, 64)

#undef TESSERA_WORD_HOOKS

TESSERA_HOOK_PTSZ(cuStreamBatchMemOp,
                  (CUstream given, unsigned count, CUstreamBatchMemOpParams* operations, unsigned flags),
                  { return keeping_all(stream, True, given, count, operations, flags); })

TESSERA_HOOK_PTSZ(cuStreamBatchMemOp_v2,
                  (CUstream given, unsigned count, CUstreamBatchMemOpParams* operations, unsigned flags),
                  { return keeping_all(stream, True, given, count, operations, flags); })
