#include "raw_file.hpp"

#include <utility>

namespace tessera::bench {

RawFile::RawFile(SpillFile file, Bytes block, unsigned depth) : file_(std::move(file)), block_(block), depth_(depth) {
  static_cast<void>(::io_uring_queue_init(depth, &ring_, 0));
}

RawFile::~RawFile() { ::io_uring_queue_exit(&ring_); }

bool RawFile::move(bool writing, void* host, Bytes bytes) {
  const auto block = static_cast<unsigned>(block_.value());
  const std::uint64_t count = bytes / block_;
  std::uint64_t started = 0;
  bool good = true;
  for (std::uint64_t done = 0; done < count; ++done) {
    for (; started < count && started - done < depth_; ++started) {
      io_uring_sqe* const entry = ::io_uring_get_sqe(&ring_);
      auto* const at = static_cast<std::byte*>(host) + started * block;
      if (writing) {
        ::io_uring_prep_write(entry, file_.descriptor(), at, block, started * block);
      } else {
        ::io_uring_prep_read(entry, file_.descriptor(), at, block, started * block);
      }
    }
    static_cast<void>(::io_uring_submit_and_wait(&ring_, 1));
    io_uring_cqe* entry = nullptr;
    if (::io_uring_wait_cqe(&ring_, &entry) != 0) return false;
    good = good && entry->res == static_cast<int>(block);
    ::io_uring_cqe_seen(&ring_, entry);
  }
  return good;
}

}  // namespace tessera::bench
