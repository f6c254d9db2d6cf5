#include "arrays.hpp"

#include <algorithm>
#include <bit>

namespace tessera::softcuda {
namespace {

constexpr unsigned kKnownFlags = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP |
                                 CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_COLOR_ATTACHMENT;

std::uint64_t channel_bytes(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: return 4;
    default: return 0;
  }
}

bool has(const CUDA_ARRAY3D_DESCRIPTOR& shape, unsigned flag) { return (shape.Flags & flag) != 0; }

template <class Handle, class Value>
std::optional<Value> taken(std::map<Handle, Value>& from, Handle handle) {
  const auto known = from.find(handle);
  if (known == from.end()) return std::nullopt;
  const Value value = known->second;
  from.erase(known);
  return value;
}

}  // namespace

std::uint64_t element_bytes(CUarray_format format, unsigned channels) {
  const bool packed = channels == 1 || channels == 2 || channels == 4;
  return packed ? channel_bytes(format) * channels : 0;
}

CUresult check_shape(const CUDA_ARRAY3D_DESCRIPTOR& shape) {
  if (shape.Width == 0 || shape.NumChannels == 0 || shape.NumChannels == 3 || shape.NumChannels > 4) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if ((shape.Flags & ~kKnownFlags) != 0 || element_bytes(shape.Format, shape.NumChannels) == 0) {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  const bool layered = has(shape, CUDA_ARRAY3D_LAYERED);
  if (shape.Height == 0 && shape.Depth != 0 && !layered) return CUDA_ERROR_INVALID_VALUE;
  if (layered && shape.Depth == 0) return CUDA_ERROR_INVALID_VALUE;
  if (!has(shape, CUDA_ARRAY3D_CUBEMAP)) return CUDA_SUCCESS;
  const bool cube = shape.Width == shape.Height && (layered ? shape.Depth % 6 == 0 : shape.Depth == 6);
  return cube ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

unsigned most_levels(const CUDA_ARRAY3D_DESCRIPTOR& shape) {
  const bool flat = has(shape, CUDA_ARRAY3D_LAYERED) || has(shape, CUDA_ARRAY3D_CUBEMAP);
  const std::size_t longest = std::max({shape.Width, shape.Height, flat ? std::size_t{0} : shape.Depth});
  return static_cast<unsigned>(std::bit_width(longest));
}

CUDA_ARRAY3D_DESCRIPTOR shape_of_level(CUDA_ARRAY3D_DESCRIPTOR shape, unsigned level) {
  const auto shorter = [level](std::size_t length) {
    return length == 0 ? 0 : std::max<std::size_t>(length >> level, 1);
  };
  const bool flat = has(shape, CUDA_ARRAY3D_LAYERED) || has(shape, CUDA_ARRAY3D_CUBEMAP);
  shape.Width = shorter(shape.Width);
  shape.Height = shorter(shape.Height);
  if (!flat) shape.Depth = shorter(shape.Depth);
  return shape;
}

CUarray Arrays::add(const Array& array) {
  const MutexLock lock(mutex_);
  const auto handle = reinterpret_cast<CUarray>(next_++);
  arrays_.emplace(handle, array);
  return handle;
}

CUmipmappedArray Arrays::add(const MipmappedArray& array) {
  const MutexLock lock(mutex_);
  const auto handle = reinterpret_cast<CUmipmappedArray>(next_++);
  mipmapped_.emplace(handle, array);
  return handle;
}

std::optional<Array> Arrays::find(CUarray handle) {
  const MutexLock lock(mutex_);
  const auto known = arrays_.find(handle);
  return known != arrays_.end() ? std::optional(known->second) : std::nullopt;
}

std::optional<MipmappedArray> Arrays::find(CUmipmappedArray handle) {
  const MutexLock lock(mutex_);
  const auto known = mipmapped_.find(handle);
  return known != mipmapped_.end() ? std::optional(known->second) : std::nullopt;
}

std::optional<Array> Arrays::remove(CUarray handle) {
  const MutexLock lock(mutex_);
  return taken(arrays_, handle);
}

std::optional<MipmappedArray> Arrays::remove(CUmipmappedArray handle) {
  const MutexLock lock(mutex_);
  return taken(mipmapped_, handle);
}

void Arrays::forget(const Context* context) {
  const MutexLock lock(mutex_);
  const auto its = [context](const auto& each) { return each.second.context == context; };
  std::erase_if(arrays_, its);
  std::erase_if(mipmapped_, its);
}

}  // namespace tessera::softcuda
