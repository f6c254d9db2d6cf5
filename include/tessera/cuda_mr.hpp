// CCCL's memory resources (cuda/memory_resource) from a Tessera heap, for RMM, libcudf, Thrust and all other libraries
// that take one. They satisfy cuda::mr::resource of CCCL 3.1 and later, and cuda::mr::async_resource of CCCL 3.0.
//
//   tessera::mr::device_resource resource(tessera::heap::shared());
//
// Kernels of such libraries are not announced. With the heap of the process (tessera_shared) that is right in two
// ways: under `tessera run` all launches are seen, and blocks move by themselves; without it, they move by
// tessera_evict and tessera_sleep only.
//
// Header only: needs CCCL's headers, and links with tessera. Throws as memory_resource.hpp; deallocation does not, and
// leaves the error of a wrong address in tessera_last_error().
//
// Thread safety: as tessera.h; copies of a resource are equal and may be used at the same time.
#ifndef TESSERA_CUDA_MR_HPP
#define TESSERA_CUDA_MR_HPP

// CCCL 3.0 asks for it.
#ifndef LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE
#define LIBCUDACXX_ENABLE_EXPERIMENTAL_MEMORY_RESOURCE
#endif
#include <cuda/memory_resource>
#include <cuda/stream_ref>

#include "tessera/memory_resource.hpp"

namespace tessera::mr {

class device_resource {
 public:
  // The heap has to outlive it.
  explicit device_resource(const heap& of, int device = 0) noexcept : of_(of, device) {}

  void* allocate(cuda::stream_ref stream, std::size_t bytes, std::size_t alignment = block_alignment) {
    return of_.allocate(bytes, alignment, stream.get());
  }
  void deallocate(cuda::stream_ref stream, void* memory, std::size_t /*bytes*/,
                  std::size_t /*alignment*/ = block_alignment) noexcept {
    free(memory, stream.get());
  }
  // Ready for use on every stream.
  void* allocate_sync(std::size_t bytes, std::size_t alignment = block_alignment) {
    return of_.allocate(bytes, alignment, TESSERA_NO_STREAM);
  }
  // REQUIRES: no queued work uses the memory any more.
  void deallocate_sync(void* memory, std::size_t /*bytes*/, std::size_t /*alignment*/ = block_alignment) noexcept {
    free(memory, TESSERA_NO_STREAM);
  }

  // The same under the names of CCCL 3.0.
  void* allocate(std::size_t bytes, std::size_t alignment = block_alignment) { return allocate_sync(bytes, alignment); }
  void deallocate(void* memory, std::size_t bytes, std::size_t alignment = block_alignment) noexcept {
    deallocate_sync(memory, bytes, alignment);
  }
  void* allocate_async(std::size_t bytes, std::size_t alignment, cuda::stream_ref stream) {
    return allocate(stream, bytes, alignment);
  }
  void* allocate_async(std::size_t bytes, cuda::stream_ref stream) { return allocate(stream, bytes); }
  void deallocate_async(void* memory, std::size_t bytes, std::size_t alignment, cuda::stream_ref stream) noexcept {
    deallocate(stream, memory, bytes, alignment);
  }
  void deallocate_async(void* memory, std::size_t bytes, cuda::stream_ref stream) noexcept {
    deallocate(stream, memory, bytes);
  }

  friend void get_property(const device_resource& /*resource*/, cuda::mr::device_accessible /*property*/) noexcept {}
  friend bool operator==(const device_resource& a, const device_resource& b) noexcept { return a.of_ == b.of_; }
  friend bool operator!=(const device_resource& a, const device_resource& b) noexcept { return !(a == b); }

 private:
  void free(void* memory, tessera_stream stream) noexcept {
    std::error_code left_in_last_error;
    of_.deallocate(memory, stream, left_in_last_error);
  }

  tessera::device_resource of_;
};

}  // namespace tessera::mr

#endif
