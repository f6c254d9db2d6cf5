#include "tier/uring_io.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/check.hpp"

namespace tessera {
namespace {

// What O_DIRECT wants of every address, length and offset.
constexpr Bytes kBlock = 4_KiB;

bool is_aligned(const void* host, Bytes bytes, Bytes offset) {
  const Bytes address(reinterpret_cast<std::uint64_t>(host));
  return !(address % kBlock) && !(bytes % kBlock) && !(offset % kBlock) && bytes;
}

// The request was not carried out, and would be at the next try. The kernel cancels requests of a
// thread that ends; the transfer is not the thread's, so it goes on.
bool means_again(int result) {
  return result == -EINTR || result == -EAGAIN || result == -ECANCELED;
}

}  // namespace

Result<std::unique_ptr<UringIo>> UringIo::open(const std::string& directory, Bytes size) {
  TESSERA_TRY_ASSIGN(SpillFile file, make_spill_file(directory, size));
  std::unique_ptr<UringIo> io(new UringIo(std::move(file), directory));
  const MutexLock lock(io->mutex_);
  const int error = -::io_uring_queue_init(kDepth, &io->ring_, 0);
  if (error != 0) {
    const char* const hint = error == ENOMEM ? " (raise the memlock limit)" : "";
    return Status(Code::kNotSupported, fmt::format("no file tier: io_uring is not available: {}{}",
                                                   std::strerror(error), hint));
  }
  io->ring_made_ = true;
  return io;
}

UringIo::UringIo(SpillFile file, const std::string& directory)
    : file_(std::move(file)), directory_(directory) {
  for (unsigned slot = kDepth; slot > 0; --slot) free_slots_.push_back(slot - 1);
}

UringIo::~UringIo() {
  if (!ring_made_) return;
  const MutexLock lock(mutex_);
  waiting_.clear();
  // The kernel writes into memory that is not ours: nothing may be in flight when we are gone.
  while (free_slots_.size() < kDepth) await_completion();
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
  transfers_.emplace(ticket, std::move(transfer));
  waiting_.push_back(ticket);
  pump();
  return ticket;
}

void UringIo::pump() {
  while (!waiting_.empty() && !free_slots_.empty()) {
    const IoTicket ticket = waiting_.front();
    Transfer& transfer = transfers_.at(ticket);
    if (transfer.issued == transfer.bytes || !transfer.outcome.is_ok()) {
      waiting_.pop_front();
      continue;
    }
    const unsigned slot = free_slots_.back();
    free_slots_.pop_back();
    const Bytes bytes = std::min(kChunk, transfer.bytes - transfer.issued);
    slots_[slot] = {ticket, transfer.issued, bytes};
    transfer.issued += bytes;
    ++transfer.slots;
    issue(slot);
  }
  // What the kernel does not take now (it may be short of memory) stays in the ring for next time.
  if (::io_uring_sq_ready(&ring_) > 0) static_cast<void>(::io_uring_submit(&ring_));
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
  if (transfer.writing) {
    ::io_uring_prep_write(entry, file_.descriptor(), host, bytes, offset);
  } else {
    ::io_uring_prep_read(entry, file_.descriptor(), host, bytes, offset);
  }
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
}

// Returns when completions may have been taken, by this thread or by another one.
void UringIo::await_completion() NO_THREAD_SAFETY_ANALYSIS {
  if (someone_waits_) return progress_.wait(mutex_);
  if (free_slots_.size() == kDepth) return;
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
  std::erase(waiting_, ticket);
  transfers_.erase(found);
  return outcome;
}

}  // namespace tessera
