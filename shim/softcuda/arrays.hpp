// Arrays and mipmapped arrays: opaque memory of the device, and what describes it.
//
// Here an array is plain memory, row after row and slice after slice without gaps, so that copies to and from it are
// those of boxes. A level of a mipmapped array is an array of its own that the mipmapped one owns. Kernels do not read
// them: there are no textures in them.
//
// Thread safety: every call may be made from any thread; descriptions are handed out as copies.
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
  CUDA_ARRAY3D_DESCRIPTOR shape{};  // as the program gave it
  Address base;
  std::uint64_t element = 0;  // bytes
  Context* context = nullptr;
  bool owned = false;  // a level: not the program's to destroy

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

// Bytes of an element; 0 for a format that there is not here, and for other numbers of channels than 1, 2 and 4.
std::uint64_t element_bytes(CUarray_format format, unsigned channels);
// Errors: CUDA_ERROR_INVALID_VALUE for a shape that no array has, CUDA_ERROR_NOT_SUPPORTED for formats and flags that
// there are not here.
CUresult check_shape(const CUDA_ARRAY3D_DESCRIPTOR& shape);
// How many levels such an array can have.
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
  // Those of a context that ends.
  void forget(const Context* context);

 private:
  Mutex mutex_{LockRank::kRegistry};
  // Handles are never followed: these are marked so that no other equals them.
  std::uint64_t next_ GUARDED_BY(mutex_) = 0x41727261790000;
  std::map<CUarray, Array> arrays_ GUARDED_BY(mutex_);
  std::map<CUmipmappedArray, MipmappedArray> mipmapped_ GUARDED_BY(mutex_);
};

}  // namespace tessera::softcuda
