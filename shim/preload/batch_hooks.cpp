// Batched copies: the managed ends of all copies are in device memory together.
//
// The copies of a batch may read pageable memory, so the call may wait for its own work.
#include <deque>
#include <span>
#include <vector>

#include "box_extents.hpp"
#include "copied_words.hpp"
#include "cuda_api.hpp"
#include "managed_use.hpp"
#include "true_driver.hpp"

using namespace tessera::preload;

namespace {

// REQUIRES: a pointer operand. Lengths are in elements of the operand, which are bytes if neither end is an array; 0
// means packed.
Box box_of(const CUmemcpy3DOperand& operand, const CUextent3D& size) {
  const auto& end = operand.op.ptr;
  return {0,
          0,
          0,
          size.width,
          size.height,
          size.depth,
          end.rowLength != 0 ? end.rowLength : size.width,
          end.layerHeight != 0 ? end.layerHeight : size.height};
}

bool is_pointer(const CUfabricCpyOperand& operand) { return operand.type == CU_FABRIC_COPY_OPERAND_TYPE_POINTER; }

// The managed source and destination extents of a call. Empty for nearly every program; then nothing is stored.
class Ends {
 public:
  void add(CUdeviceptr address, std::size_t bytes) {
    if (bytes != 0 && managed(address)) extents_.push_back({address, bytes});
  }
  void add(const CUmemcpy3DOperand& operand, const CUextent3D& size) {
    if (operand.type != CU_MEMCPY_OPERAND_TYPE_POINTER) return;
    const Extent extent = extent_of(operand.op.ptr.ptr, box_of(operand, size));
    add(extent.address, extent.bytes);
  }
  void add(const CUfabricCpyOperand& operand, std::size_t bytes) {
    if (is_pointer(operand)) add(operand.op.ptr.ptr, bytes);
  }
  std::span<const Extent> all() const { return extents_; }

 private:
  std::vector<Extent> extents_;
};

Ends ends_of(const CUdeviceptr* to, const CUdeviceptr* from, const std::size_t* sizes, std::size_t count) {
  Ends ends;
  if (to == nullptr || from == nullptr || sizes == nullptr) return ends;  // the driver rejects it
  for (std::size_t i = 0; i < count; ++i) {
    ends.add(to[i], sizes[i]);
    ends.add(from[i], sizes[i]);
  }
  return ends;
}

// The words of all copies of a batch.
class BatchWords {
 public:
  void add(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
    if (status_ != CUDA_SUCCESS) return;
    status_ = copies_.emplace_back(to, from, bytes, Source::kAny, stream).status();
  }
  CUresult status() const { return status_; }
  void made() {
    for (CopiedWords& copy : copies_) copy.made();
  }

 private:
  std::deque<CopiedWords> copies_;
  CUresult status_ = CUDA_SUCCESS;
};

template <class Call>
CUresult with_words_of(const CUdeviceptr* to, const CUdeviceptr* from, const std::size_t* sizes, std::size_t count,
                       CUstream stream, Call call) {
  BatchWords words;
  const bool told = to != nullptr && from != nullptr && sizes != nullptr;
  for (std::size_t i = 0; told && i < count; ++i) words.add(to[i], from[i], sizes[i], stream);
  if (words.status() != CUDA_SUCCESS) return words.status();
  const CUresult result = call();
  if (result == CUDA_SUCCESS) words.made();
  return result;
}

Ends ends_of(const CUDA_MEMCPY3D_BATCH_OP* copies, std::size_t count) {
  Ends ends;
  for (std::size_t i = 0; copies != nullptr && i < count; ++i) {
    ends.add(copies[i].dst, copies[i].extent);
    ends.add(copies[i].src, copies[i].extent);
  }
  return ends;
}

CUresult noted(CUresult result, const CUDA_MEMCPY3D_BATCH_OP* copies, std::size_t count, CUstream stream) {
  for (std::size_t i = 0; result == CUDA_SUCCESS && i < count; ++i) {
    const CUmemcpy3DOperand& target = copies[i].dst;
    if (target.type != CU_MEMCPY_OPERAND_TYPE_POINTER) continue;
    const Box box = box_of(target, copies[i].extent);
    const Extent extent = extent_of(target.op.ptr.ptr, box);
    if (is_whole(box)) note_overwritten(extent.address, extent.bytes, stream);
  }
  return result;
}

Ends ends_of(const CUDA_FABRIC_COPY_BATCH_OP* copies, std::size_t count) {
  Ends ends;
  for (std::size_t i = 0; copies != nullptr && i < count; ++i) {
    ends.add(copies[i].dst, copies[i].size);
    ends.add(copies[i].src, copies[i].size);
  }
  return ends;
}

// Bytes from another machine cannot be searched for addresses: they are taken to contain none.
template <class Call>
CUresult with_words_of(const CUDA_FABRIC_COPY_BATCH_OP* copies, std::size_t count, CUstream stream, Call call) {
  BatchWords words;
  for (std::size_t i = 0; copies != nullptr && i < count; ++i) {
    const CUDA_FABRIC_COPY_BATCH_OP& copy = copies[i];
    if (is_pointer(copy.dst) && is_pointer(copy.src)) {
      words.add(copy.dst.op.ptr.ptr, copy.src.op.ptr.ptr, copy.size, stream);
    }
  }
  if (words.status() != CUDA_SUCCESS) return words.status();
  const CUresult result = call();
  if (result != CUDA_SUCCESS) return result;
  words.made();
  for (std::size_t i = 0; i < count; ++i) {
    const CUDA_FABRIC_COPY_BATCH_OP& copy = copies[i];
    if (is_pointer(copy.dst) && !is_pointer(copy.src)) note_overwritten(copy.dst.op.ptr.ptr, copy.size, stream);
  }
  return result;
}

Ends ends_of(const CUmemDecompressParams* parts, std::size_t count) {
  Ends ends;
  for (std::size_t i = 0; parts != nullptr && i < count; ++i) {
    ends.add(reinterpret_cast<CUdeviceptr>(parts[i].dst), parts[i].dstNumBytes);
    ends.add(reinterpret_cast<CUdeviceptr>(parts[i].src), parts[i].srcNumBytes);
    ends.add(reinterpret_cast<CUdeviceptr>(parts[i].dstActBytes), sizeof(cuuint32_t));
  }
  return ends;
}

}  // namespace

TESSERA_HOOK_PTSZ(cuMemcpyBatchAsync,
                  (CUdeviceptr * to, CUdeviceptr* from, std::size_t* sizes, std::size_t count,
                   CUmemcpyAttributes* attributes, std::size_t* attribute_indices, std::size_t attribute_count,
                   std::size_t* failed, CUstream given),
                  {
                    return with_words_of(to, from, sizes, count, stream, [&] {
                      return with_blocks(ends_of(to, from, sizes, count).all(), stream, Waits::kMay,
                                         "cuMemcpyBatchAsync", True, to, from, sizes, count, attributes,
                                         attribute_indices, attribute_count, failed, given);
                    });
                  })

TESSERA_HOOK_PTSZ(cuMemcpyBatchAsync_v2,
                  (CUdeviceptr * to, CUdeviceptr* from, std::size_t* sizes, std::size_t count,
                   CUmemcpyAttributes* attributes, std::size_t* attribute_indices, std::size_t attribute_count,
                   CUstream given),
                  {
                    return with_words_of(to, from, sizes, count, stream, [&] {
                      return with_blocks(ends_of(to, from, sizes, count).all(), stream, Waits::kMay,
                                         "cuMemcpyBatchAsync", True, to, from, sizes, count, attributes,
                                         attribute_indices, attribute_count, given);
                    });
                  })

TESSERA_HOOK_PTSZ(cuMemcpy3DBatchAsync,
                  (std::size_t count, CUDA_MEMCPY3D_BATCH_OP* copies, std::size_t* failed, unsigned long long flags,
                   CUstream given),
                  {
                    const CUresult result =
                        with_blocks(ends_of(copies, count).all(), stream, Waits::kMay, "cuMemcpy3DBatchAsync", True,
                                    count, copies, failed, flags, given);
                    return noted(result, copies, count, stream);
                  })

TESSERA_HOOK_PTSZ(cuMemcpy3DBatchAsync_v2,
                  (std::size_t count, CUDA_MEMCPY3D_BATCH_OP* copies, unsigned long long flags, CUstream given), {
                    const CUresult result = with_blocks(ends_of(copies, count).all(), stream, Waits::kMay,
                                                        "cuMemcpy3DBatchAsync", True, count, copies, flags, given);
                    return noted(result, copies, count, stream);
                  })

// A single copy of such a batch.
TESSERA_HOOK_PTSZ(cuMemcpy3DWithAttributesAsync,
                  (CUDA_MEMCPY3D_BATCH_OP * copy, unsigned long long flags, CUstream given), {
                    const CUresult result = with_blocks(ends_of(copy, 1).all(), stream, Waits::kMay,
                                                        "cuMemcpy3DWithAttributesAsync", True, copy, flags, given);
                    return noted(result, copy, 1, stream);
                  })

TESSERA_HOOK_PTSZ(cuFabricCpyBatchAsync,
                  (std::size_t count, CUDA_FABRIC_COPY_BATCH_OP* copies, unsigned long long flags, CUstream given), {
                    return with_words_of(copies, count, stream, [&] {
                      return with_blocks(ends_of(copies, count).all(), stream, Waits::kMay, "cuFabricCpyBatchAsync",
                                         True, count, copies, flags, given);
                    });
                  })

TESSERA_HOOK_PTSZ(cuMemBatchDecompressAsync,
                  (CUmemDecompressParams * parts, std::size_t count, unsigned flags, std::size_t* failed,
                   CUstream given),
                  {
                    return with_blocks(ends_of(parts, count).all(), stream, Waits::kMay, "cuMemBatchDecompressAsync",
                                       True, parts, count, flags, failed, given);
                  })
