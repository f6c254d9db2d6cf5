// The bytes that a copy of a rectangle or a box reads and writes.
//
// Thread safety: pure functions.
#pragma once

#include "cuda_api.hpp"
#include "managed_use.hpp"

namespace tessera::preload {

// A box within a layout of rows and slices; extent_of() gives the bytes from the first one touched to the last.
struct Box {
  std::size_t x, y, z;               // where it starts: bytes, rows, slices
  std::size_t width, height, depth;  // bytes, rows, slices
  std::size_t pitch, rows;           // of the layout: bytes per row, rows per slice
};

inline Extent extent_of(CUdeviceptr base, const Box& box) {
  if (box.width == 0 || box.height == 0 || box.depth == 0) return {0, 0};
  const std::size_t start = (box.z * box.rows + box.y) * box.pitch + box.x;
  const std::size_t last_row = (box.depth - 1) * box.rows + box.height - 1;
  return {base + start, last_row * box.pitch + box.width};
}

// Whether the box covers every byte of its extent.
inline bool is_whole(const Box& box) {
  const bool rows_meet = box.pitch == box.width || (box.height == 1 && box.depth == 1);
  const bool slices_meet = box.rows == box.height || box.depth == 1;
  return rows_meet && slices_meet;
}

// In a unified copy the device member may hold a host address; the check against the managed range sorts that out.
inline bool has_device_address(CUmemorytype type) {
  return type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED;
}

inline constexpr Extent kNowhere{0, 0};

inline Extent source_of(const CUDA_MEMCPY2D_v2* copy) {
  if (copy == nullptr || !has_device_address(copy->srcMemoryType)) return kNowhere;
  return extent_of(copy->srcDevice,
                   {copy->srcXInBytes, copy->srcY, 0, copy->WidthInBytes, copy->Height, 1, copy->srcPitch, 0});
}

inline Box target_box(const CUDA_MEMCPY2D_v2* copy) {
  return {copy->dstXInBytes, copy->dstY, 0, copy->WidthInBytes, copy->Height, 1, copy->dstPitch, 0};
}

// CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER use the same names for these members.
template <class Copy>
Extent source_of(const Copy* copy) {
  if (copy == nullptr || !has_device_address(copy->srcMemoryType)) return kNowhere;
  return extent_of(copy->srcDevice, {copy->srcXInBytes, copy->srcY, copy->srcZ, copy->WidthInBytes, copy->Height,
                                     copy->Depth, copy->srcPitch, copy->srcHeight});
}

template <class Copy>
Box target_box(const Copy* copy) {
  return {copy->dstXInBytes, copy->dstY,  copy->dstZ,     copy->WidthInBytes,
          copy->Height,      copy->Depth, copy->dstPitch, copy->dstHeight};
}

template <class Copy>
Extent target_of(const Copy* copy) {
  if (copy == nullptr || !has_device_address(copy->dstMemoryType)) return kNowhere;
  return extent_of(copy->dstDevice, target_box(copy));
}

}  // namespace tessera::preload
