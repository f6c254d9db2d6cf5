#include "tier/uring_io.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/core.h>

#include "base/descriptor.hpp"
#include "base/log.hpp"
#include "tier/plain_transfer.hpp"

namespace tessera {
namespace {

// In place of a slot: the result is ignored.
constexpr unsigned kNobody = UringIo::kSlots;
// Consecutive refusals, a millisecond apart while a thread waits, before the ring is given up.
constexpr int kMostRefusals = 1000;
// Time limit for a no-op request, on a machine with other load.
constexpr int kTrialMilliseconds = 2000;
constexpr int kMostInterruptedTrials = 20;

// The request was not carried out and may be on retry. The kernel cancels requests of a thread that ends, although the
// transfer does not belong to the thread, and requests for which it could not create a worker.
bool means_again(int error) { return error == EINTR || error == EAGAIN || error == ECANCELED; }

// The kernel accepted no requests for now, because of missing memory or because completions have to be taken first.
bool may_pass(int error) { return means_again(error) || error == EBUSY || error == ENOMEM; }

// All other errors may come from the ring itself, such as EFAULT for a thread that has ended.
bool is_of_the_disk(int error) { return error == EIO || error == ENOSPC || error == EDQUOT || error == EFBIG; }

bool is_refused(int error) { return error == EPERM || error == EACCES || error == ENOSYS; }

Status no_ring(const char* call, int error) {
  return Status(Code::kNotSupported,
                fmt::format("io_uring cannot be used: {}: {} (see tessera doctor)", call, std::strerror(error)));
}

Status no_worker(int error) {
  return Status(Code::kNotSupported,
                fmt::format("io_uring cannot be used: no worker thread was created: {} (a limit on processes?)",
                            std::strerror(error)));
}

// Waits up to `milliseconds` for a completion. Returns 0 or an error number.
int await_ring(const io_uring& ring, int milliseconds) {
  pollfd completions{ring.ring_fd, POLLIN, 0};
  const int ready = ::poll(&completions, 1, milliseconds);
  if (ready > 0) return 0;
  return ready == 0 ? ETIMEDOUT : errno;
}

// More than the setup of a ring may be refused, so a kernel worker is given a no-op, which touches no memory however
// late it completes.
Status try_ring(io_uring& ring) {
  io_uring_sqe* const entry = ::io_uring_get_sqe(&ring);
  if (entry == nullptr) return no_ring("io_uring_enter", EBUSY);
  ::io_uring_prep_nop(entry);
  entry->flags |= IOSQE_ASYNC;
  entry->user_data = kNobody;
  int submitted = ::io_uring_submit(&ring);
  for (int tries = 1; submitted < 0 && may_pass(-submitted) && tries < kMostInterruptedTrials; ++tries) {
    submitted = ::io_uring_submit(&ring);
  }
  if (submitted < 0) return no_ring("io_uring_enter", -submitted);
  int waited = await_ring(ring, kTrialMilliseconds);
  for (int tries = 1; waited == EINTR && tries < kMostInterruptedTrials; ++tries) {
    waited = await_ring(ring, kTrialMilliseconds);
  }
  if (waited != 0) return no_worker(waited);
  io_uring_cqe* answer = nullptr;
  if (const int error = -::io_uring_peek_cqe(&ring, &answer); error != 0) return no_ring("io_uring_enter", error);
  const int result = answer->res;
  ::io_uring_cqe_seen(&ring, answer);
  return result < 0 ? no_worker(-result) : Status::ok();
}

}  // namespace

Result<std::unique_ptr<UringIo>> UringIo::open(const std::string& directory, Bytes size,
                                               std::unique_ptr<const Clock> clock, std::chrono::milliseconds patience) {
  std::unique_ptr<UringIo> io(new UringIo(directory, std::move(clock), patience));
  const MutexLock lock(io->mutex_);
  TESSERA_TRY(io->make_ring());
  TESSERA_TRY_ASSIGN(io->file_, make_spill_file(directory, size));
  TESSERA_TRY(io->register_file());
  return io;
}

UringIo::UringIo(const std::string& directory, std::unique_ptr<const Clock> clock, std::chrono::milliseconds patience)
    : directory_(directory), clock_(std::move(clock)), patience_(patience), queue_(directory, *clock_) {
  for (unsigned slot = kSlots; slot > 0; --slot) free_slots_.push_back(slot - 1);
}

UringIo::~UringIo() {
  if (!ring_made_) return;
  const MutexLock lock(mutex_);
  queue_.drop_waiting();
  // The kernel writes into memory that is not ours, so nothing may be in flight after destruction.
  while (queue_.in_flight() > 0) {
    submit();
    await_completion();
  }
  ::io_uring_queue_exit(&ring_);
}

Status UringIo::make_ring() {
  if (const int error = -::io_uring_queue_init(kSlots, &ring_, 0); error != 0) return no_ring("io_uring_setup", error);
  ring_made_ = true;
  const int kept = away_from_standard(ring_.ring_fd);
  if (kept < 0) return no_ring("its descriptor", errno);
  ring_.ring_fd = ring_.enter_ring_fd = kept;
  return try_ring(ring_);
}

// Old systems can register neither the file nor memory that is attached later; each request then names them itself.
Status UringIo::register_file() {
  const int file_of_ring = file_.descriptor();
  const int error = -::io_uring_register_files(&ring_, &file_of_ring, 1);
  if (is_refused(error)) return no_ring("io_uring_register", error);
  file_registered_ = error == 0;
  if (::io_uring_register_buffers_sparse(&ring_, kMaxAttached) == 0) {
    for (unsigned index = kMaxAttached; index > 0; --index) free_indices_.push_back(index - 1);
  }
  return {};
}

Result<IoTicket> UringIo::read(void* host, Bytes bytes, Bytes offset) { return start(false, host, bytes, offset); }

Result<IoTicket> UringIo::write(const void* host, Bytes bytes, Bytes offset) {
  // io_uring takes one kind of pointer for both directions; a write only reads from it.
  return start(true, const_cast<void*>(host), bytes, offset);
}

Status UringIo::poll(IoTicket ticket) {
  const MutexLock lock(mutex_);
  if (!someone_waits_) reap();
  pump();
  return queue_.take_outcome(ticket);
}

Status UringIo::wait(IoTicket ticket) {
  const MutexLock lock(mutex_);
  for (;;) {
    Status outcome = queue_.take_outcome(ticket);
    if (outcome.code() != Code::kNotReady) return outcome;
    pump();
    await_completion();
  }
}

void UringIo::attach(void* start, Bytes bytes) {
  const MutexLock lock(mutex_);
  if (free_indices_.empty()) return;
  const iovec piece{start, bytes.value()};
  const unsigned index = free_indices_.back();
  const __u64 no_tag = 0;
  const int taken = ::io_uring_register_buffers_update_tag(&ring_, index, &piece, &no_tag, 1);
  if (taken != 1) {
    // Usually the limit of locked memory, which will not be higher for the next piece.
    log_line(LogLevel::kInfo, "spill directory {}: host memory cannot be registered with io_uring: {}", directory_,
             std::strerror(-taken));
    free_indices_.clear();
    return;
  }
  free_indices_.pop_back();
  attached_.emplace(static_cast<const std::byte*>(start), Attached{index, bytes});
}

void UringIo::detach(void* start) {
  const MutexLock lock(mutex_);
  const auto found = attached_.find(static_cast<const std::byte*>(start));
  if (found == attached_.end()) return;
  const iovec nothing{nullptr, 0};
  const __u64 no_tag = 0;
  const int taken = ::io_uring_register_buffers_update_tag(&ring_, found->second.index, &nothing, &no_tag, 1);
  if (taken == 1) {
    free_indices_.push_back(found->second.index);
  } else {
    log_line(LogLevel::kWarning, "spill directory {}: host memory could not be unregistered from io_uring: {}",
             directory_, std::strerror(-taken));
  }
  attached_.erase(found);
}

std::size_t UringIo::attached() const {
  const MutexLock lock(mutex_);
  return attached_.size();
}

// The index of the attached piece that contains all of it.
std::optional<unsigned> UringIo::index_of(const std::byte* start, Bytes bytes) const {
  auto piece = attached_.upper_bound(start);
  if (piece == attached_.begin()) return std::nullopt;
  --piece;
  const bool inside = start + bytes.value() <= piece->first + piece->second.bytes.value();
  return inside ? std::optional(piece->second.index) : std::nullopt;
}

Status UringIo::discard(Bytes offset, Bytes bytes) { return punch_hole(file_.descriptor(), offset, bytes, directory_); }

Result<IoTicket> UringIo::start(bool writing, void* host, Bytes bytes, Bytes offset) {
  const MutexLock lock(mutex_);
  TESSERA_TRY_ASSIGN(const IoTicket ticket, queue_.start(writing, host, bytes, offset));
  pump();
  return ticket;
}

void UringIo::pump() {
  fill(false);
  fill(true);
  submit();
}

// Each direction has as many slots as its maximum depth, so one is free.
void UringIo::fill(bool writing) {
  while (auto chunk = queue_.next(writing)) {
    const unsigned slot = free_slots_.back();
    free_slots_.pop_back();
    slots_[slot] = {*chunk, false};
    issue(slot);
  }
}

void UringIo::issue(unsigned slot) {
  io_uring_sqe* const entry = given_up_ ? nullptr : ::io_uring_get_sqe(&ring_);
  if (entry == nullptr) return finish(slot, do_without_ring(slot, EBUSY));
  prepare(entry, *slots_[slot].chunk);
  entry->user_data = slot;
  unsubmitted_.push_back(slot);
}

void UringIo::prepare(io_uring_sqe* entry, const Chunk& chunk) const {
  std::byte* const host = chunk.next_host();
  const auto bytes = static_cast<unsigned>(chunk.left().value());
  const std::uint64_t offset = chunk.next_offset().value();
  const int file = file_registered_ ? 0 : file_.descriptor();
  const auto known = index_of(host, chunk.left());
  if (known) {
    const auto index = static_cast<int>(*known);
    if (chunk.writing)
      ::io_uring_prep_write_fixed(entry, file, host, bytes, offset, index);
    else
      ::io_uring_prep_read_fixed(entry, file, host, bytes, offset, index);
  } else {
    if (chunk.writing)
      ::io_uring_prep_write(entry, file, host, bytes, offset);
    else
      ::io_uring_prep_read(entry, file, host, bytes, offset);
  }
  if (file_registered_) entry->flags |= IOSQE_FIXED_FILE;
}

// Requests that the kernel does not take now stay in the ring for the next call; refusals are bounded.
void UringIo::submit() {
  if (unsubmitted_.empty() || given_up_) return;
  const int taken = ::io_uring_submit(&ring_);
  if (taken > 0) {
    const auto count = std::min<std::size_t>(static_cast<std::size_t>(taken), unsubmitted_.size());
    unsubmitted_.erase(unsubmitted_.begin(), unsubmitted_.begin() + static_cast<std::ptrdiff_t>(count));
    refusals_ = 0;
    return;
  }
  const int error = taken < 0 ? -taken : EAGAIN;
  if (may_pass(error) && ++refusals_ < kMostRefusals) return;
  give_up_ring(error);
}

void UringIo::give_up_ring(int error) {
  given_up_ = true;
  for (const unsigned slot : std::exchange(unsubmitted_, {})) {
    if (slot != kNobody) finish(slot, do_without_ring(slot, error));
  }
}

void UringIo::reap() {
  io_uring_cqe* entry = nullptr;
  while (::io_uring_peek_cqe(&ring_, &entry) == 0) {
    const auto slot = static_cast<unsigned>(entry->user_data);
    const int result = entry->res;
    ::io_uring_cqe_seen(&ring_, entry);
    if (slot != kNobody) complete(slot, result);
  }
}

void UringIo::complete(unsigned slot, int result) {
  Slot& piece = slots_[slot];
  Chunk& chunk = *piece.chunk;
  const int error = result < 0 ? -result : 0;
  const bool moved = result > 0 && chunk.advance(static_cast<std::uint64_t>(result));
  if (!chunk.left()) return finish(slot, 0);
  if (moved) return issue(slot);  // short transfer: issue the rest
  if (error == 0) return finish(slot, kFileEnds);
  if (is_of_the_disk(error)) return finish(slot, error);
  if (!means_again(error) || piece.again) return finish(slot, do_without_ring(slot, error));
  piece.again = true;
  issue(slot);
}

void UringIo::finish(unsigned slot, int error) {
  const Chunk chunk = *std::exchange(slots_[slot].chunk, std::nullopt);
  free_slots_.push_back(slot);
  queue_.end(chunk, error);
}

// Under the lock: callers hold the engine's lock anyway, so releasing this one would not help any thread.
int UringIo::do_without_ring(unsigned slot, int reason) {
  const int error = carry_out(file_.descriptor(), *slots_[slot].chunk);
  if (error == 0) say_once(reason);
  return error;
}

void UringIo::say_once(int reason) {
  if (said_) return;
  said_ = true;
  log_line(LogLevel::kWarning,
           "spill directory {}: io_uring did not complete a request ({}); such requests use plain system calls",
           directory_, std::strerror(reason));
}

// Returns when completions may have been taken, by this thread or another.
void UringIo::await_completion() NO_THREAD_SAFETY_ANALYSIS {
  if (someone_waits_) return progress_.wait(mutex_);
  if (queue_.in_flight() == 0) return;
  if (!unsubmitted_.empty()) {
    // The kernel lacks memory for requests, which it reports only by refusing.
    progress_.wait_for(mutex_, std::chrono::milliseconds(1));
    return reap();
  }
  int waited = 0;
  if (::io_uring_cq_ready(&ring_) == 0) {
    someone_waits_ = true;
    mutex_.unlock();
    waited = await_ring(ring_, static_cast<int>(patience_.count()));
    mutex_.lock();
    someone_waits_ = false;
  }
  reap();
  if (waited == ETIMEDOUT) take_back();
  pump();
  progress_.notify_all();
}

// A kernel that cannot create a worker may retry for ever: giving up after three attempts dates from 2024. Requests
// that no worker has started can be cancelled and are not given to the ring again. Requests that the disk is working on
// are left alone.
void UringIo::take_back() {
  for (unsigned slot = 0; slot < kSlots; ++slot) {
    if (!slots_[slot].chunk) continue;
    io_uring_sqe* const entry = given_up_ ? nullptr : ::io_uring_get_sqe(&ring_);
    if (entry == nullptr) return;
    ::io_uring_prep_cancel64(entry, slot, 0);
    entry->user_data = kNobody;
    unsubmitted_.push_back(kNobody);
    slots_[slot].again = true;
  }
}

}  // namespace tessera
