#include "sim/sim_store.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fmt/core.h>

#include "base/descriptor.hpp"
#include "driver/native_codes.hpp"

namespace tessera {
namespace {

Status refused(std::string_view what, const std::string& name) {
  return {Code::kOutOfMemory, fmt::format("{} for {}: {}", what, name, std::strerror(errno)), native::kOutOfMemory};
}

// Whole page tables can move only between addresses of the same alignment.
void* map_aligned(int file, std::uint64_t bytes, std::uint64_t alignment) {
  const std::uint64_t slack = bytes + alignment;
  void* const room = ::mmap(nullptr, slack, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return room;
  const auto first = reinterpret_cast<std::uint64_t>(room);
  const std::uint64_t start = (first + alignment - 1) / alignment * alignment;
  if (start > first) ::munmap(room, start - first);
  ::munmap(reinterpret_cast<void*>(start + bytes), first + slack - (start + bytes));
  return ::mmap(reinterpret_cast<void*>(start), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
                file, 0);
}

}  // namespace

SimStore::SimStore(std::string name, Bytes capacity, Bytes granularity)
    : SimPool(std::move(name), capacity), granularity_(granularity), extent_(round_up(capacity * 4, granularity)) {
  free_.give(0, extent_ / granularity_);
}

SimStore::~SimStore() {
  if (home_ != nullptr) ::munmap(home_, extent_.value());
  if (file_ >= 0) ::close(file_);
}

Status SimStore::open() {
  if (file_ >= 0) return {};
  const int file = away_from_standard(::memfd_create("tessera-sim", MFD_CLOEXEC));
  if (file < 0) return refused("no memory file", name());
  void* home = MAP_FAILED;
  if (::ftruncate(file, static_cast<off_t>(extent_.value())) == 0) {
    home = map_aligned(file, extent_.value(), granularity_.value());
  }
  if (home == MAP_FAILED) {
    Status status = refused("no room to map the memory file", name());
    ::close(file);
    return status;
  }
  file_ = file;
  home_ = static_cast<std::byte*>(home);
  return {};
}

bool SimStore::move_pages(void* from, void* to, Bytes offset, Bytes bytes) const {
  // DONTUNMAP leaves a mapping without pages behind, so that nothing else can be mapped there.
  const int move = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
  if (::mremap(from, bytes.value(), bytes.value(), move, to) != MAP_FAILED) return true;
  // Not possible before Linux 5.13; pages are then faulted in one by one.
  return ::mmap(to, bytes.value(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_,
                static_cast<off_t>(offset.value())) != MAP_FAILED;
}

bool SimStore::show(Bytes offset, Bytes bytes, void* where) const {
  return move_pages(at(offset), where, offset, bytes);
}

bool SimStore::hide(Bytes offset, Bytes bytes, void* where) const {
  return move_pages(where, at(offset), offset, bytes);
}

// An open file description of its own, so that the caller may set its position.
int SimStore::share() {
  if (!open().is_ok()) return -1;
  return away_from_standard(::open(fmt::format("/proc/self/fd/{}", file_).c_str(), O_RDWR | O_CLOEXEC));
}

Result<Bytes> SimStore::place(Bytes bytes) {
  TESSERA_TRY(open());
  const auto start = free_.take(bytes / granularity_);
  if (!start) {
    return Status(Code::kOutOfMemory,
                  fmt::format("a frame of {} bytes on {}: the longest free extent has {}", bytes.value(), name(),
                              (granularity_ * free_.largest()).value()),
                  native::kOutOfMemory);
  }
  return granularity_ * *start;
}

// Memory that was used is cleared and kept, up to the capacity: to fault it in again would take twenty times as long.
void SimStore::clear(Bytes offset, Bytes bytes) {
  free_.give(offset / granularity_, bytes / granularity_);
  const auto end = static_cast<off_t>((offset + bytes).value());
  const bool keeps = is_within_capacity();
  auto at = static_cast<off_t>(offset.value());
  while ((at = ::lseek(file_, at, SEEK_DATA)) >= 0 && at < end) {
    const off_t until = std::min(::lseek(file_, at, SEEK_HOLE), end);
    // Without a hole the pages stay in use, and must be cleared for the next frame.
    if (keeps || ::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, until - at) != 0) {
      std::memset(home_ + at, 0, static_cast<std::size_t>(until - at));
    }
    at = until;
  }
}

bool SimStore::is_within_capacity() const {
  struct stat now {};
  constexpr Bytes kBlock(512);  // in which stat() counts
  return ::fstat(file_, &now) == 0 && kBlock * static_cast<std::uint64_t>(now.st_blocks) <= capacity();
}

}  // namespace tessera
