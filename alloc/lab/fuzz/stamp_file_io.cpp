#include "lab/fuzz/stamp_file_io.hpp"

#include <utility>

namespace tessera {
namespace {

constexpr Nanoseconds kLateness{1'000'000'000};

}  // namespace

const char* name_of(DiskFault fault) {
  constexpr const char* kNames[] = {"nothing",       "a refused start", "a busy disk", "a failure halfway",
                                    "a short write", "a flipped bit",   "a late end",  "a full disk"};
  return kNames[static_cast<std::size_t>(fault)];
}

StampFileIo::StampFileIo(VirtualClock& clock, StampMemory& memory, LinkSpeed read, LinkSpeed write)
    : clock_(clock), memory_(memory), disk_(clock, read, write) {}

void StampFileIo::arm(DiskFault fault, int nth) {
  armed_ = fault;
  until_ = nth;
  if (fault == DiskFault::kNone) full_ = false;
}

DiskFault StampFileIo::next_fault(bool writing) {
  const bool of_writes = armed_ == DiskFault::kShortWrite || armed_ == DiskFault::kFlip || armed_ == DiskFault::kFull;
  DiskFault fault = DiskFault::kNone;
  if (armed_ != DiskFault::kNone && (writing || !of_writes) && --until_ <= 0) {
    fault = std::exchange(armed_, DiskFault::kNone);
    full_ = full_ || fault == DiskFault::kFull;
  }
  if (writing && full_) fault = DiskFault::kFull;
  if (fault != DiskFault::kNone) ++struck_;
  return fault;
}

Result<IoTicket> StampFileIo::begin(Result<IoTicket> ticket, Transfer transfer) {
  if (!ticket.is_ok()) return ticket;
  if (transfer.fault == DiskFault::kLate) {
    transfer.not_before = clock_.now() + kLateness;
    clock_.schedule(transfer.not_before, [] {});
  }
  const Place to = transfer.writing ? transfer.disk : transfer.host;
  memory_.write(to, transfer.bytes, kTorn);
  transfers_.emplace(ticket.value(), std::move(transfer));
  return ticket;
}

Result<IoTicket> StampFileIo::read(void* host, Bytes bytes, Bytes offset) {
  const DiskFault fault = next_fault(false);
  if (fault == DiskFault::kRefuse) return Status(Code::kIo, "injected: the read is refused");
  if (fault == DiskFault::kBusy) return Status(Code::kBusy, "injected: the disk is busy");
  return begin(disk_.read(host, bytes, offset), {false, host_place(host), disk_place(offset), bytes, {}, fault, {}});
}

Result<IoTicket> StampFileIo::write(const void* host, Bytes bytes, Bytes offset) {
  const DiskFault fault = next_fault(true);
  if (fault == DiskFault::kRefuse) return Status(Code::kIo, "injected: the write is refused");
  if (fault == DiskFault::kBusy) return Status(Code::kBusy, "injected: the disk is busy");
  const Place from = host_place(host);
  return begin(disk_.write(host, bytes, offset),
               {true, from, disk_place(offset), bytes, memory_.read(from, bytes), fault, {}});
}

Status StampFileIo::poll(IoTicket ticket) {
  const auto found = transfers_.find(ticket);
  if (found != transfers_.end() && clock_.now() < found->second.not_before) {
    return Status(Code::kNotReady, "the transfer is in flight");
  }
  return finish(ticket, disk_.poll(ticket));
}

Status StampFileIo::wait(IoTicket ticket) {
  const auto found = transfers_.find(ticket);
  if (found != transfers_.end()) clock_.run_until(found->second.not_before);
  return finish(ticket, disk_.wait(ticket));
}

Status StampFileIo::finish(IoTicket ticket, Status outcome) {
  if (outcome.code() == Code::kNotReady) return outcome;
  const auto found = transfers_.find(ticket);
  if (found == transfers_.end()) {
    if (!violation_) violation_ = "a poll or wait for a transfer that has ended";
    return outcome;
  }
  const Transfer transfer = std::move(found->second);
  transfers_.erase(found);
  return transfer.writing ? end_write(transfer) : end_read(transfer);
}

Status StampFileIo::end_write(const Transfer& transfer) {
  if (memory_.read(transfer.host, transfer.bytes) != transfer.seen && !violation_) {
    violation_ = "host memory changed while it was written to the disk";
  }
  StampMemory::Contents reached = transfer.seen;
  switch (transfer.fault) {
    case DiskFault::kFail: return Status(Code::kIo, "injected: the write failed");
    case DiskFault::kFull: return Status(Code::kIo, "injected: the disk is full");
    case DiskFault::kShortWrite: reached.resize(reached.size() / 2); break;
    case DiskFault::kFlip:
      if (!reached.empty()) reached.back().second ^= 1;
      break;
    default: break;
  }
  corrupted_ = corrupted_ || reached != transfer.seen;
  memory_.write(transfer.disk, transfer.bytes, reached);
  return {};
}

Status StampFileIo::end_read(const Transfer& transfer) {
  if (transfer.fault == DiskFault::kFail) return Status(Code::kIo, "injected: the read failed");
  memory_.write(transfer.host, transfer.bytes, memory_.read(transfer.disk, transfer.bytes));
  return {};
}

Status StampFileIo::discard(Bytes, Bytes) { return {}; }

}  // namespace tessera
