#include "tier/uring_io.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/log.hpp"

namespace tessera {
namespace {

// What O_DIRECT wants of every address, length and offset.
constexpr Bytes kBlock = 4_KiB;

bool is_aligned(const void* host, Bytes bytes, Bytes offset) {
  const Bytes address(reinterpret_cast<std::uint64_t>(host));
  return !(address % kBlock) && !(bytes % kBlock) && !(offset % kBlock) && bytes;
}

// Below this many bytes per second a disk holds up whoever waits for it more than it helps.
constexpr std::uint64_t kSlow = 200'000'000;

// The request was not carried out, and would be at the next try. The kernel cancels requests of a
// thread that ends; the transfer is not the thread's, so it goes on.
bool means_again(int result) {
  return result == -EINTR || result == -EAGAIN || result == -ECANCELED;
}

}  // namespace

Result<std::unique_ptr<UringIo>> UringIo::open(const std::string& directory, Bytes size,
                                                std::unique_ptr<const Clock> clock) {
  TESSERA_TRY_ASSIGN(SpillFile file, make_spill_file(directory, size));
  std::unique_ptr<UringIo> io(new UringIo(std::move(file), directory, std::move(clock)));
  const MutexLock lock(io->mutex_);
  const int error = -::io_uring_queue_init(kSlots, &io->ring_, 0);
  if (error != 0) {
    const char* const hint = error == ENOMEM ? " (raise the memlock limit)" : "";
    return Status(Code::kNotSupported, fmt::format("no file tier: io_uring is not available: {}{}",
                                                   std::strerror(error), hint));
  }
  io->ring_made_ = true;
  // Old systems have neither; then each request names file and memory by itself.
  const int file_of_ring = io->file_.descriptor();
  io->file_registered_ = ::io_uring_register_files(&io->ring_, &file_of_ring, 1) == 0;
  if (::io_uring_register_buffers_sparse(&io->ring_, kMaxAttached) == 0) {
    for (unsigned index = kMaxAttached; index > 0; --index) io->free_indices_.push_back(index - 1);
  }
  return io;
}

UringIo::UringIo(SpillFile file, const std::string& directory, std::unique_ptr<const Clock> clock)
    : file_(std::move(file)), directory_(directory), clock_(std::move(clock)) {
  for (unsigned slot = kSlots; slot > 0; --slot) free_slots_.push_back(slot - 1);
}

UringIo::~UringIo() {
  if (!ring_made_) return;
  const MutexLock lock(mutex_);
  reads_.waiting.clear();
  writes_.waiting.clear();
  // The kernel writes into memory that is not ours: nothing may be in flight when we are gone.
  while (free_slots_.size() < kSlots) await_completion();
  ::io_uring_queue_exit(&ring_);
}

Result<IoTicket> UringIo::read(void* host, Bytes bytes, Bytes offset) {
  return start({false, static_cast<std::byte*>(host), bytes, offset, Bytes(), 0, Status()});
}

Result<IoTicket> UringIo::write(const void* host, Bytes bytes, Bytes offset) {
  // io_uring takes one kind of pointer for both directions; a write only reads from it.
  auto* const bytes_of = static_cast<std::byte*>(const_cast<void*>(host));
  return start({true, bytes_of, bytes, offset, Bytes(), 0, Status()});
}

Status UringIo::poll(IoTicket ticket) {
  const MutexLock lock(mutex_);
  if (!someone_waits_) reap();
  pump();
  return take_outcome(ticket);
}

Status UringIo::wait(IoTicket ticket) {
  const MutexLock lock(mutex_);
  for (;;) {
    Status outcome = take_outcome(ticket);
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
    // The limit of locked memory, mostly; it will not be higher for the next piece.
    log_line(LogLevel::kInfo, "spill directory {}: memory is not registered: {}", directory_,
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
  const int taken =
      ::io_uring_register_buffers_update_tag(&ring_, found->second.index, &nothing, &no_tag, 1);
  if (taken == 1) {
    free_indices_.push_back(found->second.index);
  } else {
    log_line(LogLevel::kWarning, "spill directory {}: memory stays registered: {}", directory_,
             std::strerror(-taken));
  }
  attached_.erase(found);
}

std::size_t UringIo::attached() const {
  const MutexLock lock(mutex_);
  return attached_.size();
}

// Of the attached piece that holds all of it.
std::optional<unsigned> UringIo::index_of(const std::byte* start, Bytes bytes) const {
  auto piece = attached_.upper_bound(start);
  if (piece == attached_.begin()) return std::nullopt;
  --piece;
  const bool inside = start + bytes.value() <= piece->first + piece->second.bytes.value();
  return inside ? std::optional(piece->second.index) : std::nullopt;
}

Status UringIo::discard(Bytes offset, Bytes bytes) {
  const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  if (::fallocate(file_.descriptor(), mode, static_cast<off_t>(offset.value()),
                  static_cast<off_t>(bytes.value())) == 0) {
    return Status::ok();
  }
  const Code code = errno == EOPNOTSUPP ? Code::kNotSupported : Code::kIo;
  return Status(code, fmt::format("spill directory {}: cannot free file space: {}", directory_,
                                  std::strerror(errno)));
}

Result<IoTicket> UringIo::start(Transfer transfer) {
  if (!is_aligned(transfer.host, transfer.bytes, transfer.offset)) {
    return Status(Code::kInvalidArgument,
                  fmt::format("transfer of {} bytes at {} is not in whole blocks of {}",
                              transfer.bytes.value(), transfer.offset.value(), kBlock.value()));
  }
  const MutexLock lock(mutex_);
  if (transfers_.size() >= kMaxTransfers) {
    return Status(Code::kBusy, fmt::format("{} transfers are in flight", transfers_.size()));
  }
  const IoTicket ticket(++last_ticket_);
  queue_of(transfer).waiting.push_back(ticket);
  transfers_.emplace(ticket, std::move(transfer));
  pump();
  return ticket;
}

void UringIo::pump() {
  fill(reads_);
  fill(writes_);
  // What the kernel does not take now (it may be short of memory) stays in the ring for next time.
  if (::io_uring_sq_ready(&ring_) > 0) static_cast<void>(::io_uring_submit(&ring_));
}

// Each direction has as many slots as it may be deep, so there is one to be had.
void UringIo::fill(Queue& queue) {
  while (!queue.waiting.empty() && queue.in_flight < queue.depth.depth()) {
    const IoTicket ticket = queue.waiting.front();
    Transfer& transfer = transfers_.at(ticket);
    if (transfer.issued == transfer.bytes || !transfer.outcome.is_ok()) {
      queue.waiting.pop_front();
      continue;
    }
    const unsigned slot = free_slots_.back();
    free_slots_.pop_back();
    const Bytes bytes = std::min(kChunk, transfer.bytes - transfer.issued);
    slots_[slot] = {ticket, transfer.issued, bytes, clock_->now()};
    transfer.issued += bytes;
    ++transfer.slots;
    ++queue.in_flight;
    issue(slot);
  }
  queue.full = queue.in_flight == queue.depth.depth() && !queue.waiting.empty();
}

// The ring has an entry for each slot, so there is always one to be had.
void UringIo::issue(unsigned slot) {
  const Slot& piece = slots_[slot];
  const Transfer& transfer = transfers_.at(piece.ticket);
  io_uring_sqe* const entry = ::io_uring_get_sqe(&ring_);
  DCHECK(entry != nullptr);
  std::byte* const host = transfer.host + piece.at.value();
  const auto bytes = static_cast<unsigned>(piece.bytes.value());
  const std::uint64_t offset = (transfer.offset + piece.at).value();
  const int file = file_registered_ ? 0 : file_.descriptor();
  const auto known = index_of(host, piece.bytes);
  if (known) {
    const auto index = static_cast<int>(*known);
    if (transfer.writing) ::io_uring_prep_write_fixed(entry, file, host, bytes, offset, index);
    else ::io_uring_prep_read_fixed(entry, file, host, bytes, offset, index);
  } else {
    if (transfer.writing) ::io_uring_prep_write(entry, file, host, bytes, offset);
    else ::io_uring_prep_read(entry, file, host, bytes, offset);
  }
  if (file_registered_) entry->flags |= IOSQE_FIXED_FILE;
  entry->user_data = slot;
}

void UringIo::reap() {
  io_uring_cqe* entry = nullptr;
  while (::io_uring_peek_cqe(&ring_, &entry) == 0) {
    const auto slot = static_cast<unsigned>(entry->user_data);
    const int result = entry->res;
    ::io_uring_cqe_seen(&ring_, entry);
    complete(slot, result);
  }
}

void UringIo::complete(unsigned slot, int result) {
  Slot& piece = slots_[slot];
  Transfer& transfer = transfers_.at(piece.ticket);
  const Bytes moved = result > 0 ? Bytes(static_cast<std::uint64_t>(result)) / kBlock * kBlock
                                 : Bytes();
  piece.at += moved;
  piece.bytes -= moved;
  if (piece.bytes && transfer.outcome.is_ok()) {
    // Short, or interrupted: go on with the rest. Anything else is the end of the transfer.
    if (moved || means_again(result)) return issue(slot);
    transfer.outcome = failure(transfer, piece, result);
  }
  --transfer.slots;
  free_slots_.push_back(slot);
  Queue& queue = queue_of(transfer);
  --queue.in_flight;
  if (transfer.outcome.is_ok()) {
    const unsigned depth = queue.depth.depth();
    queue.depth.ended(moved, clock_->now() - piece.issued, queue.full);
    if (queue.depth.depth() != depth) queue.full = false;  // those that end with it were filled to the old one
  }
  warn_if_slow(queue, transfer.writing);
}

void UringIo::warn_if_slow(Queue& queue, bool writing) {
  if (queue.told || !queue.depth.is_settled()) return;
  queue.told = true;
  const std::uint64_t speed = queue.depth.speed();
  log_line(speed < kSlow ? LogLevel::kWarning : LogLevel::kInfo,
           "spill directory {}: {} at {} MB/s with {} requests in flight{}", directory_,
           writing ? "writes" : "reads", speed / 1'000'000, queue.depth.depth(),
           speed < kSlow ? ": a slow disk holds up what waits for it" : "");
}

// Returns when completions may have been taken, by this thread or by another one.
void UringIo::await_completion() NO_THREAD_SAFETY_ANALYSIS {
  if (someone_waits_) return progress_.wait(mutex_);
  if (free_slots_.size() == kSlots) return;
  if (::io_uring_sq_ready(&ring_) > 0 && ::io_uring_submit(&ring_) < 0) {
    // The kernel is short of memory for requests; it says so only by refusing.
    progress_.wait_for(mutex_, std::chrono::milliseconds(1));
    return reap();
  }
  someone_waits_ = true;
  mutex_.unlock();
  io_uring_cqe* entry = nullptr;
  static_cast<void>(::io_uring_wait_cqe(&ring_, &entry));
  mutex_.lock();
  someone_waits_ = false;
  reap();
  pump();
  progress_.notify_all();
}

Status UringIo::failure(const Transfer& transfer, const Slot& slot, int result) const {
  return Status(Code::kIo,
                fmt::format("spill directory {}: {} of {} bytes at {} failed: {}", directory_,
                            transfer.writing ? "writing" : "reading", slot.bytes.value(),
                            (transfer.offset + slot.at).value(),
                            result < 0 ? std::strerror(-result) : "the file ends there"));
}

Status UringIo::take_outcome(IoTicket ticket) {
  const auto found = transfers_.find(ticket);
  if (found == transfers_.end()) {
    return Status(Code::kInvalidArgument, fmt::format("no transfer {}", ticket.value()));
  }
  if (!found->second.is_over()) return Status(Code::kNotReady, "the transfer runs");
  Status outcome = std::move(found->second.outcome);
  std::erase(queue_of(found->second).waiting, ticket);
  transfers_.erase(found);
  return outcome;
}

}  // namespace tessera
