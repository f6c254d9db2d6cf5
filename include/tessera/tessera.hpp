// Tessera in C++17: objects that end what they begin, over the C API. tessera.h states what each call does, its costs
// and its errors; this header only states what is different here. Errors are thrown, or returned in a std::error_code
// that is passed last (error.hpp). Objects without a value after an error are false.
//
// Header only; link with tessera. Names are in snake_case, as those of the standard library and of CCCL.
//
// Thread safety: as tessera.h for the heap. Other objects belong to one thread at a time, `use` and `tag_scope` to the
// thread that made them.
#ifndef TESSERA_TESSERA_HPP
#define TESSERA_TESSERA_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "tessera/error.hpp"
#include "tessera/interpose.h"
#include "tessera/tessera.h"

namespace tessera {

// ---- options ----

// Values are texts, as in docs/tuning.md: set("device-memory", "4GiB").
class options {
 public:
  explicit options(std::error_code& code TESSERA_OR_THROW) {
    tessera_options* made = nullptr;
    if (detail::check(tessera_options_create(&made), code)) options_.reset(made);
  }
  options& set(const char* name, const char* value, std::error_code& code TESSERA_OR_THROW) {
    detail::check(tessera_options_set(options_.get(), name, value), code);
    return *this;
  }
  options& set(const char* name, const std::string& value, std::error_code& code TESSERA_OR_THROW) {
    return set(name, value.c_str(), code);
  }
  tessera_options* get() const noexcept { return options_.get(); }

 private:
  struct end {
    void operator()(tessera_options* made) const noexcept { tessera_options_destroy(made); }
  };
  std::unique_ptr<tessera_options, end> options_;
};

// ---- blocks ----

// Owns a block, which is freed in the order of its stream.
class block {
 public:
  block() = default;
  // Takes over a live block.
  block(tessera_allocator* allocator, tessera_address address, std::size_t bytes, tessera_stream stream) noexcept
      : allocator_(allocator), address_(address), bytes_(bytes), stream_(stream) {}
  block(block&& other) noexcept { swap(other); }
  block& operator=(block&& other) noexcept {
    block(std::move(other)).swap(*this);
    return *this;
  }
  // Use reset() where the error of a free matters.
  ~block() {
    std::error_code ignored;
    reset(ignored);
  }

  tessera_address address() const noexcept { return address_; }
  template <class T = void>
  T* as() const noexcept {
    return reinterpret_cast<T*>(static_cast<std::uintptr_t>(address_));  // for kernels: not for the host to read
  }
  std::size_t size() const noexcept { return bytes_; }
  explicit operator bool() const noexcept { return address_ != 0; }
  tessera_stream stream() const noexcept { return stream_; }
  // Of the work that uses it last.
  void set_stream(tessera_stream stream) noexcept { stream_ = stream; }

  void reset(std::error_code& code TESSERA_OR_THROW) {
    if (address_ == 0) return;
    detail::check(tessera_free(allocator_, std::exchange(address_, 0), stream_), code);
    bytes_ = 0;
  }
  tessera_address release() noexcept {
    bytes_ = 0;
    return std::exchange(address_, 0);
  }
  void swap(block& other) noexcept {
    std::swap(allocator_, other.allocator_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    std::swap(stream_, other.stream_);
  }

 private:
  tessera_allocator* allocator_ = nullptr;
  tessera_address address_ = 0;
  std::size_t bytes_ = 0;
  tessera_stream stream_ = nullptr;
};

// ---- the heap ----

class heap {
 public:
  // A heap of its own: all work on its blocks has to be announced by `use`.
  explicit heap(const options& chosen, std::error_code& code TESSERA_OR_THROW) {
    tessera_allocator* made = nullptr;
    if (detail::check(tessera_allocator_create(chosen.get(), &made), code)) own(made);
  }
  // The heap of the process (tessera_shared). Under `tessera run` it sees all launches, and nothing has to be
  // announced.
  static heap shared(std::error_code& code TESSERA_OR_THROW) {
    tessera_allocator* found = nullptr;
    detail::check(tessera_shared(&found), code);
    return heap(found);
  }
  // Refers to an allocator without owning it.
  explicit heap(tessera_allocator* allocator) noexcept : allocator_(allocator) {}

  tessera_allocator* get() const noexcept { return allocator_; }
  explicit operator bool() const noexcept { return allocator_ != nullptr; }

  block allocate(std::size_t bytes, int device, tessera_stream stream, std::error_code& code TESSERA_OR_THROW) {
    tessera_address address = 0;
    if (!detail::check(tessera_malloc(allocator_, device, bytes, stream, &address), code)) return {};
    return {allocator_, address, bytes, stream};
  }
  void trim(std::error_code& code TESSERA_OR_THROW) { detail::check(tessera_trim(allocator_), code); }
  void set_policy(const char* name, std::error_code& code TESSERA_OR_THROW) {
    detail::check(tessera_set_policy(allocator_, name), code);
  }

  void prefetch(std::initializer_list<tessera_address> blocks, std::error_code& code TESSERA_OR_THROW) {
    detail::check(tessera_prefetch(allocator_, blocks.begin(), blocks.size()), code);
  }
  void evict(std::initializer_list<tessera_address> blocks, std::error_code& code TESSERA_OR_THROW) {
    detail::check(tessera_evict(allocator_, blocks.begin(), blocks.size()), code);
  }
  // nullptr: all blocks.
  tessera_moved sleep(const char* tag, std::error_code& code TESSERA_OR_THROW) {
    auto moved = detail::sized<tessera_moved>();
    detail::check(tessera_sleep(allocator_, tag, &moved), code);
    return moved;
  }
  tessera_moved wake(const char* tag, std::error_code& code TESSERA_OR_THROW) {
    auto moved = detail::sized<tessera_moved>();
    detail::check(tessera_wake(allocator_, tag, &moved), code);
    return moved;
  }
  void mark(const char* kind, std::uint64_t number, std::error_code& code TESSERA_OR_THROW) {
    detail::check(tessera_mark(allocator_, kind, number), code);
  }

  tessera_block_info query(tessera_address address, std::error_code& code TESSERA_OR_THROW) const {
    auto info = detail::sized<tessera_block_info>();
    detail::check(tessera_query(allocator_, address, &info), code);
    return info;
  }
  tessera_stats stats(std::error_code& code TESSERA_OR_THROW) const {
    auto stats = detail::sized<tessera_stats>();
    detail::check(tessera_get_stats(allocator_, &stats), code);
    return stats;
  }

 private:
  struct end {
    void operator()(tessera_allocator* made) const noexcept { tessera_allocator_destroy(made); }
  };
  void own(tessera_allocator* made) {
    owned_.reset(made);
    allocator_ = made;
  }
  std::unique_ptr<tessera_allocator, end> owned_;
  tessera_allocator* allocator_ = nullptr;
};

// ---- scopes ----

// The work that the thread queues on `stream` in the object's lifetime uses these blocks.
class use {
 public:
  use(heap& of, std::initializer_list<tessera_address> addresses, tessera_stream stream, tessera_access access,
      std::error_code& code TESSERA_OR_THROW)
      : use(of, addresses.begin(), addresses.size(), stream, access, code) {}
  use(heap& of, const tessera_address* addresses, std::size_t count, tessera_stream stream, tessera_access access,
      std::error_code& code TESSERA_OR_THROW) {
    if (detail::check(tessera_use_begin(of.get(), addresses, count, stream, access, &use_), code)) begun_ = of.get();
  }
  use(const use&) = delete;
  use& operator=(const use&) = delete;
  ~use() { end(); }
  // Ends it before its scope does.
  void end() noexcept {
    if (begun_ != nullptr) tessera_use_end(std::exchange(begun_, nullptr), &use_);
  }
  explicit operator bool() const noexcept { return begun_ != nullptr; }

 private:
  tessera_use use_{};
  tessera_allocator* begun_ = nullptr;
};

// Blocks that the thread allocates in its lifetime carry the tag.
class tag_scope {
 public:
  tag_scope(heap& of, const char* tag, std::error_code& code TESSERA_OR_THROW) {
    if (detail::check(tessera_tag_push(of.get(), tag), code)) pushed_ = of.get();
  }
  tag_scope(const tag_scope&) = delete;
  tag_scope& operator=(const tag_scope&) = delete;
  ~tag_scope() {
    if (pushed_ != nullptr) (void)tessera_tag_pop(pushed_);
  }

 private:
  tessera_allocator* pushed_ = nullptr;
};

// The block stays in device memory for its lifetime.
class pin {
 public:
  pin(heap& of, tessera_address address, std::error_code& code TESSERA_OR_THROW) : address_(address) {
    if (detail::check(tessera_pin(of.get(), address), code)) pinned_ = of.get();
  }
  pin(const pin&) = delete;
  pin& operator=(const pin&) = delete;
  ~pin() {
    if (pinned_ != nullptr) (void)tessera_unpin(pinned_, address_);
  }

 private:
  tessera_address address_;
  tessera_allocator* pinned_ = nullptr;
};

}  // namespace tessera

#endif
