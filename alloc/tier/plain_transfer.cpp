#include "tier/plain_transfer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/core.h>

namespace tessera {
namespace {

constexpr int kMostInterruptions = 100;

ssize_t move_once(int file, const Chunk& chunk) {
  const std::size_t bytes = chunk.left().value();
  const auto offset = static_cast<off_t>(chunk.next_offset().value());
  return chunk.writing ? ::pwrite(file, chunk.next_host(), bytes, offset)
                       : ::pread(file, chunk.next_host(), bytes, offset);
}

}  // namespace

int carry_out(int file, Chunk& chunk) {
  int interruptions = 0;
  while (chunk.left()) {
    const ssize_t moved = move_once(file, chunk);
    if (moved == 0) return kFileEnds;
    if (moved > 0 && chunk.advance(static_cast<std::uint64_t>(moved))) continue;
    // Less than a block was moved, or nothing.
    const int error = moved > 0 ? EIO : errno;
    const bool may_pass = moved > 0 || error == EINTR || error == EAGAIN;
    if (!may_pass || ++interruptions > kMostInterruptions) return error;
  }
  return 0;
}

Status punch_hole(int file, Bytes offset, Bytes bytes, const std::string& directory) {
  const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  if (::fallocate(file, mode, static_cast<off_t>(offset.value()), static_cast<off_t>(bytes.value())) == 0) return {};
  const int error = errno;
  const bool never = error == EOPNOTSUPP || error == ENOSYS || error == EPERM;
  return Status(never ? Code::kNotSupported : Code::kIo,
                fmt::format("spill directory {}: cannot free file space: {}", directory, std::strerror(error)));
}

}  // namespace tessera
