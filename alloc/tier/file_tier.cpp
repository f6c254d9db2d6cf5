#include "tier/file_tier.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/log.hpp"
#include "tier/uring_io.hpp"

namespace tessera {
namespace {

// The most free space, in base pages, that the file keeps before it gives some back.
constexpr std::uint64_t kMaxStale = 1_GiB / kBasePage;

std::uint64_t units_of(PageClass page_class) { return page_bytes(page_class) / kBasePage; }

}  // namespace

Result<std::unique_ptr<FileTier>> FileTier::open(const std::string& directory, Bytes capacity) {
  if (capacity < kBasePage) return std::make_unique<FileTier>(nullptr, Bytes());
  TESSERA_TRY_ASSIGN(auto io, UringIo::open(directory, capacity));
  return std::make_unique<FileTier>(std::move(io), capacity);
}

FileTier::FileTier(std::unique_ptr<FileIo> io, Bytes capacity, Checksum checksum)
    : io_(std::move(io)), capacity_(capacity), checksum_(std::move(checksum)) {
  const MutexLock lock(mutex_);
  free_.give(0, capacity_ / kBasePage);
}

FileTier::~FileTier() {
  const MutexLock lock(mutex_);
  DCHECK_EQ(used_, Bytes());
  DCHECK(moving_.empty());
}

Result<Frame> FileTier::take(PageClass page_class) {
  const std::uint64_t units = units_of(page_class);
  const MutexLock lock(mutex_);
  const auto start = free_.take(units);
  if (!start) {
    return Status(Code::kOutOfMemory,
                  fmt::format("file tier: {} bytes asked, {} of {} are in frames that are out",
                              page_bytes(page_class).value(), used_.value(), capacity_.value()));
  }
  for (std::uint64_t unit = *start; unit < *start + units; ++unit) stale_.take_exactly(unit, 1);
  used_ += page_bytes(page_class);
  peak_used_ = std::max(peak_used_, used_);
  return Frame{TierKind::kFile, page_class, (kBasePage * *start).value()};
}

void FileTier::give_back(Frame frame) {
  const std::uint64_t start = Bytes(frame.value) / kBasePage;
  const MutexLock lock(mutex_);
  DCHECK_GE(used_, frame.bytes());
  used_ -= frame.bytes();
  free_.give(start, units_of(frame.page_class));
  if (contents_.erase(frame.value) == 0) return;  // never written: it takes no space
  stale_.give(start, units_of(frame.page_class));
  if (stale_.free_count() > kMaxStale) release_stale();
}

TierUsage FileTier::usage() const {
  const MutexLock lock(mutex_);
  return {capacity_, used_, kBasePage * stale_.free_count(), peak_used_};
}

void FileTier::trim() {
  const MutexLock lock(mutex_);
  release_stale();
}

Status FileTier::validate() const {
  const MutexLock lock(mutex_);
  TESSERA_TRY(free_.validate());
  TESSERA_TRY(stale_.validate());
  if (used_ + kBasePage * free_.free_count() != capacity_ / kBasePage * kBasePage ||
      stale_.free_count() > free_.free_count()) {
    return Status(Code::kInternal, fmt::format("file tier: {} used, {} units free, {} stale, of {}",
                                               used_.value(), free_.free_count(),
                                               stale_.free_count(), capacity_.value()));
  }
  return Status::ok();
}

Result<IoTicket> FileTier::write(const Frame& frame, const void* host) {
  Moving moving{true, host, Bytes(frame.value), frame.bytes(), 0};
  {
    const MutexLock lock(mutex_);
    contents_.insert_or_assign(frame.value, std::nullopt);
  }
  TESSERA_TRY_ASSIGN(const IoTicket ticket, io_->write(host, moving.bytes, moving.offset));
  // The disk is at work meanwhile; nobody changes the bytes before the ticket is finished.
  moving.checksum = checksum_(host, moving.bytes);
  note(ticket, moving);
  return ticket;
}

Result<IoTicket> FileTier::read(const Frame& frame, void* host) {
  Moving moving{false, host, Bytes(frame.value), frame.bytes(), 0};
  {
    const MutexLock lock(mutex_);
    const auto found = contents_.find(frame.value);
    if (found == contents_.end() || !found->second) {
      return Status(Code::kInvalidArgument,
                    fmt::format("file tier: nothing is written at {}", frame.value));
    }
    moving.checksum = *found->second;
  }
  TESSERA_TRY_ASSIGN(const IoTicket ticket, io_->read(host, moving.bytes, moving.offset));
  note(ticket, moving);
  return ticket;
}

Status FileTier::poll(IoTicket ticket) { return finish(ticket, io_->poll(ticket)); }
Status FileTier::wait(IoTicket ticket) { return finish(ticket, io_->wait(ticket)); }

void FileTier::note(IoTicket ticket, const Moving& moving) {
  const MutexLock lock(mutex_);
  moving_.emplace(ticket, moving);
}

Status FileTier::finish(IoTicket ticket, Status outcome) {
  if (outcome.code() == Code::kNotReady) return outcome;
  Moving moving;
  {
    const MutexLock lock(mutex_);
    const auto found = moving_.find(ticket);
    if (found == moving_.end()) return outcome;
    moving = found->second;
    moving_.erase(found);
    if (moving.writing && outcome.is_ok()) {
      contents_.insert_or_assign(moving.offset.value(), moving.checksum);
    }
  }
  if (moving.writing || !outcome.is_ok()) return outcome;
  const std::uint64_t found = checksum_(moving.host, moving.bytes);
  if (found == moving.checksum) return outcome;
  return Status(Code::kDataLoss,
                fmt::format("file tier: {} bytes at {} have checksum {:016x} and were written with "
                            "{:016x}",
                            moving.bytes.value(), moving.offset.value(), found, moving.checksum));
}

// Tells the file system that free space is free. Where it cannot know, the space is used again.
void FileTier::release_stale() {
  while (const std::uint64_t count = stale_.largest()) {
    const auto start = stale_.take(count);
    if (!start) return;
    const Status discarded = io_->discard(kBasePage * *start, kBasePage * count);
    if (!discarded.is_ok()) log_line(LogLevel::kDebug, "{}", discarded.to_string());
  }
}

}  // namespace tessera
