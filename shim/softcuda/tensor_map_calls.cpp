// cuTensorMap*: descriptors encoded entirely on the host.
//
// No context is needed, and no memory is accessed. The shape affects the bytes, so that different maps have different
// bytes; the software device's kernels read the address (softcuda_tensor_map.hpp).
#include <cstring>

#include "call.hpp"
#include "softcuda_tensor_map.hpp"

using namespace tessera::softcuda;  // NOLINT: the entry points below are C

namespace {

constexpr std::uint64_t kAlignment = 16;                 // of the tensor, as documented
constexpr cuuint64_t kLargeClass = cuuint64_t{1} << 63;  // in the first word of a map

bool is_aligned(const void* tensor) { return reinterpret_cast<std::uintptr_t>(tensor) % kAlignment == 0; }

// The tensor properties common to all kinds of maps.
struct Tensor {
  CUtensorMapDataType type;
  cuuint32_t rank;
  void* address;
  const cuuint64_t* sizes;
  const cuuint64_t* strides;
  const cuuint32_t* steps;
  CUtensorMapInterleave interleave;
  CUtensorMapSwizzle swizzle;
  CUtensorMapL2promotion promotion;
  CUtensorMapFloatOOBfill fill;
};

// `part(i)` and `mode` make maps of different boxes differ.
template <class Part>
CUresult encode(CUtensorMap* map, const Tensor& tensor, cuuint32_t least_rank, cuuint64_t mode, Part part) {
  const cuuint32_t rank = tensor.rank;
  if (map == nullptr || tensor.address == nullptr || !is_aligned(tensor.address) || rank < least_rank || rank > 5 ||
      tensor.sizes == nullptr || (tensor.strides == nullptr && rank > 1) || tensor.steps == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::memset(map, 0, sizeof(*map));
  map->opaque[0] = mode << 48 | static_cast<cuuint64_t>(tensor.type) << 40 |
                   static_cast<cuuint64_t>(tensor.interleave) << 32 | static_cast<cuuint64_t>(tensor.swizzle) << 24 |
                   static_cast<cuuint64_t>(tensor.promotion) << 16 | static_cast<cuuint64_t>(tensor.fill) << 8 | rank;
  for (cuuint32_t i = 0; i < rank; ++i) {
    map->opaque[6 + i] = tensor.sizes[i] ^ (static_cast<cuuint64_t>(part(i)) << 48);
    map->opaque[11 + i] = (i + 1 < rank ? tensor.strides[i] : 0) ^ tensor.steps[i];
  }
  ::softcuda::set_tensor_address(map->opaque, reinterpret_cast<std::uint64_t>(tensor.address));
  return CUDA_SUCCESS;
}

// Pixel columns: the tensor is an image with channels, at least one spatial dimension, and a batch dimension.
constexpr cuuint32_t kLeastColumnRank = 3;
constexpr cuuint32_t kMostChannels = 256, kMostPixels = 1024;  // of a column, as documented

bool are_columns(cuuint32_t channels, cuuint32_t pixels) {
  return channels >= 1 && channels <= kMostChannels && pixels >= 1 && pixels <= kMostPixels;
}

}  // namespace

CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* tensor,
                                const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t* steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  if (box == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Tensor of{type, rank, tensor, sizes, strides, steps, interleave, swizzle, promotion, fill};
  return encode(map, of, 1, 0, [&](cuuint32_t i) { return box[i]; });
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* tensor,
                                 const cuuint64_t* sizes, const cuuint64_t* strides, const int* lower, const int* upper,
                                 cuuint32_t channels, cuuint32_t pixels, const cuuint32_t* steps,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  if (lower == nullptr || upper == nullptr || !are_columns(channels, pixels)) return CUDA_ERROR_INVALID_VALUE;
  const Tensor of{type, rank, tensor, sizes, strides, steps, interleave, swizzle, promotion, fill};
  // There is a corner for each spatial dimension: two fewer than the tensor has.
  return encode(map, of, kLeastColumnRank, 1, [&](cuuint32_t i) {
    const auto low = static_cast<cuuint32_t>(i + 2 < rank ? lower[i] : static_cast<int>(channels));
    const auto high = static_cast<cuuint32_t>(i + 2 < rank ? upper[i] : static_cast<int>(pixels));
    return (low & 0xff) << 8 | (high & 0xff);
  });
}

CUresult cuTensorMapEncodeIm2colWide(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* tensor,
                                     const cuuint64_t* sizes, const cuuint64_t* strides, int lower, int upper,
                                     cuuint32_t channels, cuuint32_t pixels, const cuuint32_t* steps,
                                     CUtensorMapInterleave interleave, CUtensorMapIm2ColWideMode mode,
                                     CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                     CUtensorMapFloatOOBfill fill) {
  if (!are_columns(channels, pixels)) return CUDA_ERROR_INVALID_VALUE;
  const Tensor of{type, rank, tensor, sizes, strides, steps, interleave, swizzle, promotion, fill};
  const auto corners = static_cast<cuuint32_t>((lower & 0xff) << 8 | (upper & 0xff));
  return encode(map, of, kLeastColumnRank, 2 + static_cast<cuuint64_t>(mode), [&](cuuint32_t i) {
    return i == 0 ? corners : i == 1 ? channels : pixels;
  });
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* tensor) {
  if (map == nullptr || tensor == nullptr || !is_aligned(tensor)) return CUDA_ERROR_INVALID_VALUE;
  ::softcuda::set_tensor_address(map->opaque, reinterpret_cast<std::uint64_t>(tensor));
  return CUDA_SUCCESS;
}

// As on an architecture that stores the class in a bit of the map: other bytes, the same tensor.
CUresult cuTensorMapSetAllocationClass(CUtensorMap* map, CUtensorMapAllocClass requested,
                                       CUtensorMapAllocClass* given) {
  if (given != nullptr) *given = CU_TENSOR_MAP_ALLOC_CLASS_SMALL;
  if (map == nullptr || requested > CU_TENSOR_MAP_ALLOC_CLASS_LARGE) return CUDA_ERROR_INVALID_VALUE;
  const bool large = requested == CU_TENSOR_MAP_ALLOC_CLASS_LARGE;
  map->opaque[0] = (map->opaque[0] & ~kLargeClass) | (large ? kLargeClass : 0);
  if (given != nullptr && large) *given = CU_TENSOR_MAP_ALLOC_CLASS_LARGE;
  return CUDA_SUCCESS;
}
