// FileIo on a modelled disk: transfers take time on a virtual clock and move no bytes.
//
// Reads and writes are one queue each, one transfer at a time, in the order of the requests, of all programs that use
// the disk.
//
// Thread safety: as file_io.hpp.
//
// Invariants: at most kMaxTransfers are in flight.
#pragma once

#include <deque>
#include <unordered_map>

#include "base/link_speed.hpp"
#include "base/mutex.hpp"
#include "base/virtual_clock.hpp"
#include "tier/file_io.hpp"

namespace tessera {

// When the last transfers that programs of one clock have asked for will be over. Thread safety: one thread at a time.
struct VirtualDisk {
  Nanoseconds read_free_at, write_free_at;
};

class VirtualFileIo final : public FileIo {
 public:
  // `disk` is null for one of its own. REQUIRES: both outlive it.
  VirtualFileIo(VirtualClock& clock, LinkSpeed read, LinkSpeed write, VirtualDisk* disk = nullptr);

  const char* name() const override { return "model"; }
  Result<IoTicket> read(void* host, Bytes bytes, Bytes offset) override;
  Result<IoTicket> write(const void* host, Bytes bytes, Bytes offset) override;
  Status poll(IoTicket ticket) override;
  // Advances time until the transfer is over.
  Status wait(IoTicket ticket) override;
  Status discard(Bytes offset, Bytes bytes) override;

  // Bytes read and written by the disk so far; a transfer counts once it has ended.
  Bytes bytes_read();
  Bytes bytes_written();

 private:
  struct Transfer {
    Nanoseconds over_at;
    Bytes bytes;
  };
  struct Queue {
    LinkSpeed speed;
    Nanoseconds& free_at;
    Bytes done{};
    std::deque<Transfer> under_way;  // includes transfers that are over but not counted yet
  };
  Result<IoTicket> start(Queue& queue, Bytes bytes) REQUIRES_LOCK(mutex_);
  Bytes count(Queue& queue) REQUIRES_LOCK(mutex_);

  VirtualClock& clock_;
  VirtualDisk own_;
  Mutex mutex_{LockRank::kTier};
  Queue read_ GUARDED_BY(mutex_);
  Queue write_ GUARDED_BY(mutex_);
  std::uint64_t last_ticket_ GUARDED_BY(mutex_) = 0;
  std::unordered_map<IoTicket, Nanoseconds> over_at_ GUARDED_BY(mutex_);
};

// Replaces the checksum where there are no bytes.
std::uint64_t checksum_of_nothing(const void* host, Bytes bytes);

}  // namespace tessera
