// Memory resources in C++17: device_resource for device memory, and host_resource, a std::pmr::memory_resource, for
// pinned host memory. cuda_mr.hpp makes CCCL's resources of them.
//
//   tessera::host_resource pinned(heap);
//   std::pmr::vector<float> staging(count, &pinned);
//
// Thread safety: as tessera.h; copies of a resource are equal and may be used at the same time.
#ifndef TESSERA_MEMORY_RESOURCE_HPP
#define TESSERA_MEMORY_RESOURCE_HPP

#include <cstddef>
#include <memory_resource>
#include <system_error>

#include "tessera/host.h"
#include "tessera/tessera.hpp"

namespace tessera {

inline constexpr std::size_t block_alignment = 512;  // of device blocks; greater alignments are refused
inline constexpr std::size_t host_alignment = 4096;  // the same for pinned host memory

namespace detail {

// Blocks of 0 bytes are blocks of one: every pointer that is returned can be deallocated.
inline std::size_t at_least_one(std::size_t bytes) { return bytes == 0 ? 1 : bytes; }

}  // namespace detail

// Has the functions of std::pmr::memory_resource, and those with a stream. It is not one: containers would access its
// memory from the host. The heap has to outlive it.
class device_resource {
 public:
  explicit device_resource(const heap& of, int device = 0) noexcept : allocator_(of.get()), device_(device) {}

  // Ready for use on `stream`.
  void* allocate(std::size_t bytes, std::size_t alignment, tessera_stream stream,
                 std::error_code& code TESSERA_OR_THROW) const {
    tessera_address address = 0;
    if (alignment > block_alignment) {
      detail::refuse(TESSERA_INVALID_ARGUMENT, "alignments are at most 512 bytes", code);
      return nullptr;
    }
    if (!detail::check(tessera_malloc(allocator_, device_, detail::at_least_one(bytes), stream, &address), code)) {
      return nullptr;
    }
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  }
  // Work queued on `stream` so far may still use the memory.
  void deallocate(void* memory, tessera_stream stream, std::error_code& code TESSERA_OR_THROW) const {
    detail::check(tessera_free(allocator_, reinterpret_cast<std::uintptr_t>(memory), stream), code);
  }

  int device() const noexcept { return device_; }
  friend bool operator==(const device_resource& a, const device_resource& b) noexcept {
    return a.allocator_ == b.allocator_ && a.device_ == b.device_;
  }
  friend bool operator!=(const device_resource& a, const device_resource& b) noexcept { return !(a == b); }

 private:
  tessera_allocator* allocator_;
  int device_;
};

#ifndef TESSERA_NO_EXCEPTIONS
// Pinned host memory. REQUIRES, at allocations: the context of the device's blocks is current; the memory ends with it.
// At deallocations: no queued work uses the memory any more.
class host_resource : public std::pmr::memory_resource {
 public:
  explicit host_resource(const heap& of) noexcept : allocator_(of.get()) {}

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    void* memory = nullptr;
    if (alignment > host_alignment) {
      detail::refuse(TESSERA_INVALID_ARGUMENT, "alignments are at most 4096 bytes", throws());
    }
    // Blocks of less than 4096 bytes are aligned to 512.
    const std::size_t whole = alignment > block_alignment && bytes < host_alignment ? host_alignment : bytes;
    detail::check(tessera_host_malloc(allocator_, detail::at_least_one(whole), &memory), throws());
    return memory;
  }
  // Containers deallocate where nothing may be thrown: an address that is not a block's stays in tessera_last_error().
  void do_deallocate(void* memory, std::size_t /*bytes*/, std::size_t /*alignment*/) override {
    (void)tessera_host_free(allocator_, memory);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    const auto* same = dynamic_cast<const host_resource*>(&other);
    return same != nullptr && same->allocator_ == allocator_;
  }

  tessera_allocator* allocator_;
};
#endif

}  // namespace tessera

#endif
