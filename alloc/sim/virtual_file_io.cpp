#include "sim/virtual_file_io.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace tessera {

VirtualFileIo::VirtualFileIo(VirtualClock& clock, LinkSpeed read, LinkSpeed write, VirtualDisk* disk)
    : clock_(clock),
      read_{read, (disk != nullptr ? *disk : own_).read_free_at, {}, {}},
      write_{write, (disk != nullptr ? *disk : own_).write_free_at, {}, {}} {}

Result<IoTicket> VirtualFileIo::read(void*, Bytes bytes, Bytes) {
  const MutexLock lock(mutex_);
  return start(read_, bytes);
}

Result<IoTicket> VirtualFileIo::write(const void*, Bytes bytes, Bytes) {
  const MutexLock lock(mutex_);
  return start(write_, bytes);
}

Result<IoTicket> VirtualFileIo::start(Queue& queue, Bytes bytes) {
  if (over_at_.size() >= kMaxTransfers) {
    return Status(Code::kBusy, fmt::format("{} transfers are in flight", over_at_.size()));
  }
  queue.free_at = std::max(queue.free_at, clock_.now()) + queue.speed.time_for(bytes);
  const IoTicket ticket(++last_ticket_);
  over_at_[ticket] = queue.free_at;
  // An event at this time, so that any wait on the clock stops at this completion.
  clock_.schedule(queue.free_at, [] {});
  count(queue);
  queue.under_way.push_back({queue.free_at, bytes});
  return ticket;
}

Status VirtualFileIo::poll(IoTicket ticket) {
  const MutexLock lock(mutex_);
  const auto found = over_at_.find(ticket);
  if (found == over_at_.end()) {
    return Status(Code::kInvalidArgument, fmt::format("no transfer {}", ticket.value()));
  }
  if (found->second > clock_.now()) return Status(Code::kNotReady, "the transfer is in flight");
  over_at_.erase(found);
  return {};
}

Status VirtualFileIo::wait(IoTicket ticket) {
  Nanoseconds until;
  {
    const MutexLock lock(mutex_);
    const auto found = over_at_.find(ticket);
    if (found != over_at_.end()) until = found->second;
  }
  clock_.run_until(until);
  return poll(ticket);
}

// Transfers end in order.
Bytes VirtualFileIo::count(Queue& queue) {
  while (!queue.under_way.empty() && queue.under_way.front().over_at <= clock_.now()) {
    queue.done += queue.under_way.front().bytes;
    queue.under_way.pop_front();
  }
  return queue.done;
}

Bytes VirtualFileIo::bytes_read() {
  const MutexLock lock(mutex_);
  return count(read_);
}

Bytes VirtualFileIo::bytes_written() {
  const MutexLock lock(mutex_);
  return count(write_);
}

Status VirtualFileIo::discard(Bytes, Bytes) { return {}; }

std::uint64_t checksum_of_nothing(const void*, Bytes) { return 0; }

}  // namespace tessera
