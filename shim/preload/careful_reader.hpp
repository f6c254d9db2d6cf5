// Reads memory that may be unmapped. It writes the memory to a pipe: the kernel returns EFAULT where the memory is not
// readable. process_vm_readv() would be simpler, but it cannot read memory that a driver has mapped.
//
// Thread safety: an object belongs to one thread.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "descriptors.hpp"

namespace tessera::preload {

class CarefulReader {
 public:
  CarefulReader() {
    if (::pipe2(ends_, O_CLOEXEC | O_NONBLOCK) != 0) return;
    for (int& end : ends_) end = off_standard_streams(end);
    open_ = ends_[0] >= 0 && ends_[1] >= 0;
  }
  ~CarefulReader() {
    for (const int end : ends_) {
      if (end >= 0) ::close(end);
    }
  }
  CarefulReader(const CarefulReader&) = delete;
  CarefulReader& operator=(const CarefulReader&) = delete;

  bool is_open() const { return open_; }
  // Copies up to the first unreadable page. Returns the number of bytes copied.
  std::size_t read(const void* from, char* to, std::size_t bytes) const {
    const auto begin = reinterpret_cast<std::uintptr_t>(from);
    std::size_t copied = 0;
    while (copied < bytes) {
      // Within one page either all bytes are readable or none.
      const std::size_t rest_of_page = kPage - (begin + copied) % kPage;
      const std::size_t part = std::min(rest_of_page, bytes - copied);
      if (!copy(reinterpret_cast<const void*>(begin + copied), to + copied, part)) break;
      copied += part;
    }
    return copied;
  }

 private:
  static constexpr std::size_t kPage = 4096;

  // The pipe is empty before and after the call, and holds at least a page. The system call is made by number because
  // memory checkers intercept write() and would report an error here.
  bool copy(const void* from, char* to, std::size_t bytes) const {
    const ssize_t put = again([&] { return ::syscall(SYS_write, ends_[1], from, bytes); });
    if (put <= 0) return false;
    const ssize_t got = again([&] { return ::read(ends_[0], to, static_cast<std::size_t>(put)); });
    return got == put && static_cast<std::size_t>(got) == bytes;
  }
  template <class Call>
  static ssize_t again(Call call) {
    for (;;) {
      const ssize_t result = call();
      if (result >= 0 || errno != EINTR) return result;
    }
  }

  int ends_[2] = {-1, -1};
  bool open_ = false;
};

}  // namespace tessera::preload
