#include "driver/sim_store.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "driver/native_codes.hpp"

namespace tessera {
namespace {

Status refused(std::string_view what, const std::string& name) {
  return {Code::kOutOfMemory, fmt::format("{} for {}: {}", what, name, std::strerror(errno)),
          native::kOutOfMemory};
}

}  // namespace

SimStore::SimStore(std::string name, Bytes capacity, Bytes granularity)
    : name_(std::move(name)),
      capacity_(capacity),
      granularity_(granularity),
      extent_(round_up(capacity * 4, granularity)) {
  free_.give(0, extent_ / granularity_);
}

SimStore::~SimStore() {
  if (view_ != nullptr) ::munmap(view_, extent_.value());
  if (file_ >= 0) ::close(file_);
}

Status SimStore::open() {
  if (file_ >= 0) return {};
  const int file = ::memfd_create("tessera-sim", MFD_CLOEXEC);
  if (file < 0) return refused("no memory file", name_);
  void* view = MAP_FAILED;
  if (::ftruncate(file, static_cast<off_t>(extent_.value())) == 0) {
    view = ::mmap(nullptr, extent_.value(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                  file, 0);
  }
  if (view == MAP_FAILED) {
    Status status = refused("no view of the memory file", name_);
    ::close(file);
    return status;
  }
  file_ = file;
  view_ = static_cast<std::byte*>(view);
  return {};
}

Result<Bytes> SimStore::take(Bytes bytes) {
  const Bytes left = capacity_ - used_;
  if (bytes > left) {
    return Status(Code::kOutOfMemory,
                  fmt::format("a frame of {} bytes on {}: {} of {} bytes are free", bytes.value(),
                              name_, left.value(), capacity_.value()),
                  native::kOutOfMemory);
  }
  TESSERA_TRY(open());
  const auto start = free_.take(bytes / granularity_);
  if (!start) {
    return Status(Code::kOutOfMemory,
                  fmt::format("a frame of {} bytes on {}: the longest free piece has {}",
                              bytes.value(), name_, (granularity_ * free_.largest()).value()),
                  native::kOutOfMemory);
  }
  used_ += bytes;
  return granularity_ * *start;
}

void SimStore::give(Bytes offset, Bytes bytes) {
  const int failed =
      ::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  static_cast<off_t>(offset.value()), static_cast<off_t>(bytes.value()));
  // Then the pages stay in use, and the next frame here must be cleared by hand.
  if (failed != 0) std::memset(at(offset), 0, bytes.value());
  free_.give(offset / granularity_, bytes / granularity_);
  used_ -= bytes;
}

}  // namespace tessera
