// cuTensorMap*: descriptors that are made on the host alone.
//
// No context is needed, and no memory is looked at. What shape a map has makes its bytes another
// map's; the software device's kernels read the address (softcuda_tensor_map.hpp).
#include <cstring>

#include "call.hpp"
#include "softcuda_tensor_map.hpp"

using namespace tessera::softcuda;  // NOLINT: the entry points below are C

namespace {

constexpr std::uint64_t kAlignment = 16;  // of the tensor, as documented
constexpr cuuint64_t kLargeClass = cuuint64_t{1} << 63;  // in the first word of a map

bool is_aligned(const void* tensor) {
  return reinterpret_cast<std::uintptr_t>(tensor) % kAlignment == 0;
}

}  // namespace

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank,
                                void* tensor, const cuuint64_t* sizes, const cuuint64_t* strides,
                                const cuuint32_t* box, const cuuint32_t* steps,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  if (map == nullptr || tensor == nullptr || !is_aligned(tensor) || rank < 1 || rank > 5 ||
      sizes == nullptr || (strides == nullptr && rank > 1) || box == nullptr || steps == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::memset(map, 0, sizeof(*map));
  map->opaque[0] = static_cast<cuuint64_t>(type) << 40 | static_cast<cuuint64_t>(interleave) << 32 |
                   static_cast<cuuint64_t>(swizzle) << 24 |
                   static_cast<cuuint64_t>(promotion) << 16 | static_cast<cuuint64_t>(fill) << 8 |
                   rank;
  for (cuuint32_t i = 0; i < rank; ++i) {
    map->opaque[6 + i] = sizes[i] ^ (static_cast<cuuint64_t>(box[i]) << 48);
    map->opaque[11 + i] = (i + 1 < rank ? strides[i] : 0) ^ steps[i];
  }
  ::softcuda::set_tensor_address(map->opaque, reinterpret_cast<std::uint64_t>(tensor));
  return CUDA_SUCCESS;
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* tensor) {
  if (map == nullptr || tensor == nullptr || !is_aligned(tensor)) return CUDA_ERROR_INVALID_VALUE;
  ::softcuda::set_tensor_address(map->opaque, reinterpret_cast<std::uint64_t>(tensor));
  return CUDA_SUCCESS;
}

// As an architecture on which the class is a bit of the map: other bytes, the same tensor.
CUresult cuTensorMapSetAllocationClass(CUtensorMap* map, CUtensorMapAllocClass requested,
                                       CUtensorMapAllocClass* given) {
  if (given != nullptr) *given = CU_TENSOR_MAP_ALLOC_CLASS_SMALL;
  if (map == nullptr || requested > CU_TENSOR_MAP_ALLOC_CLASS_LARGE) return CUDA_ERROR_INVALID_VALUE;
  const bool large = requested == CU_TENSOR_MAP_ALLOC_CLASS_LARGE;
  map->opaque[0] = (map->opaque[0] & ~kLargeClass) | (large ? kLargeClass : 0);
  if (given != nullptr && large) *given = CU_TENSOR_MAP_ALLOC_CLASS_LARGE;
  return CUDA_SUCCESS;
}
