// Arrays and mipmapped arrays: opaque device memory and its descriptors.
//
// An array is plain memory here, row after row and slice after slice without gaps, so that copies to and from it are
// box copies. A level of a mipmapped array is an array owned by the mipmapped array. Kernels do not read arrays, as
// they have no texture functions.
//
// Thread safety: every call may be made from any thread; descriptors are returned as copies.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/mutex.hpp"
#include "base/units.hpp"
#include "context.hpp"
#include "cuda_api.hpp"

namespace tessera::softcuda {

struct Array {
  CUDA_ARRAY3D_DESCRIPTOR shape{};  // as the program passed it
  Address base;
  std::uint64_t element = 0;  // bytes
  Context* context = nullptr;
  bool owned = false;  // a level: the program may not destroy it

  std::uint64_t pitch() const { return shape.Width * element; }
  std::uint64_t rows() const { return shape.Height == 0 ? 1 : shape.Height; }
  std::uint64_t slices() const { return shape.Depth == 0 ? 1 : shape.Depth; }
  Bytes bytes() const { return Bytes(pitch() * rows() * slices()); }
};

struct MipmappedArray {
  CUDA_ARRAY3D_DESCRIPTOR shape{};
  std::vector<CUarray> levels;
  Context* context = nullptr;
};

// Bytes per element; 0 for an unsupported format, and for channel counts other than 1, 2 and 4.
std::uint64_t element_bytes(CUarray_format format, unsigned channels);
// Errors: CUDA_ERROR_INVALID_VALUE for an invalid shape, CUDA_ERROR_NOT_SUPPORTED for unsupported formats and flags.
CUresult check_shape(const CUDA_ARRAY3D_DESCRIPTOR& shape);
// The maximum number of levels of such an array.
unsigned most_levels(const CUDA_ARRAY3D_DESCRIPTOR& shape);
CUDA_ARRAY3D_DESCRIPTOR shape_of_level(CUDA_ARRAY3D_DESCRIPTOR shape, unsigned level);

class Arrays {
 public:
  CUarray add(const Array& array);
  CUmipmappedArray add(const MipmappedArray& array);
  std::optional<Array> find(CUarray handle);
  std::optional<MipmappedArray> find(CUmipmappedArray handle);
  std::optional<Array> remove(CUarray handle);
  std::optional<MipmappedArray> remove(CUmipmappedArray handle);
  // Forgets the arrays of a context that ends.
  void forget(const Context* context);

 private:
  Mutex mutex_{LockRank::kRegistry};
  // Handles are never dereferenced; this prefix distinguishes them from all others.
  std::uint64_t next_ GUARDED_BY(mutex_) = 0x41727261790000;
  std::map<CUarray, Array> arrays_ GUARDED_BY(mutex_);
  std::map<CUmipmappedArray, MipmappedArray> mipmapped_ GUARDED_BY(mutex_);
};

}  // namespace tessera::softcuda
