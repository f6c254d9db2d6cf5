// FileIo over io_uring: transfers cut into chunks, many of which are in flight at once.
//
// Why chunks: a disk reaches its speed with several requests queued, and one page alone should
// reach it too. Chunks beyond the ring's depth wait here; whoever starts, polls or waits for a
// transfer moves the queue on, so no thread of ours is needed.
//
// Each direction has a queue and a depth of its own (queue_depth.hpp), and slots for all of it, so
// that reads never wait behind writes. The file, and memory that is attached, are registered with the
// ring where the system lets us; else each request names them again.
//
// The ring has one lock. The one thread that waits for completions inside the kernel does so
// without it, and is the only one to take completions meanwhile.
//
// Thread safety: as file_io.hpp says; one ticket is polled or waited for by one thread.
//
// Invariants: a chunk is in one place: not issued, in a slot, or done; at most kSlots slots and
// kMaxTransfers transfers exist.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <liburing.h>

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "tier/file_io.hpp"
#include "tier/queue_depth.hpp"
#include "tier/spill_file.hpp"

namespace tessera {

class UringIo final : public FileIo {
 public:
  static constexpr unsigned kSlots = 2 * QueueDepth::kMost;
  static constexpr Bytes kChunk = 1_MiB;
  // Pieces of memory that may be attached; more are used without.
  static constexpr unsigned kMaxAttached = 4096;

  // A spill file of `size` bytes in `directory`, whose speed is taken by `clock`. Errors: kIo with the directory and
  // the reason; kNotSupported when the system has no io_uring for us.
  static Result<std::unique_ptr<UringIo>> open(const std::string& directory, Bytes size,
                                               std::unique_ptr<const Clock> clock = std::make_unique<SteadyClock>());
  // Waits for what is in flight; what is not started is dropped.
  ~UringIo() override;
  UringIo(const UringIo&) = delete;
  UringIo& operator=(const UringIo&) = delete;

  Result<IoTicket> read(void* host, Bytes bytes, Bytes offset) override;
  Result<IoTicket> write(const void* host, Bytes bytes, Bytes offset) override;
  Status poll(IoTicket ticket) override;
  Status wait(IoTicket ticket) override;
  void attach(void* start, Bytes bytes) override;
  void detach(void* start) override;
  Status discard(Bytes offset, Bytes bytes) override;

  // Pieces that the system took; for tests and benchmarks.
  std::size_t attached() const;

 private:
  struct Transfer {
    bool writing = false;
    std::byte* host = nullptr;
    Bytes bytes;
    Bytes offset;        // in the file
    Bytes issued;        // bytes that have been given to slots
    unsigned slots = 0;  // slots at work for it
    Status outcome;

    bool is_over() const { return slots == 0 && (issued == bytes || !outcome.is_ok()); }
  };
  // A piece of a transfer that the kernel works on.
  struct Slot {
    IoTicket ticket;
    Bytes at;  // from the transfer's start
    Bytes bytes;
    Nanoseconds issued;
  };

  // One direction: transfers with chunks that are not issued, in order, and how many are in flight.
  struct Queue {
    std::deque<IoTicket> waiting;
    unsigned in_flight = 0;
    QueueDepth depth;
    bool full = false;  // when it was filled last: as many as may be are in flight, and more wait
    bool told = false;  // whether its speed was looked at
  };
  struct Attached {
    unsigned index;
    Bytes bytes;
  };

  UringIo(SpillFile file, const std::string& directory, std::unique_ptr<const Clock> clock);

  Result<IoTicket> start(Transfer transfer);
  // Moves waiting chunks into free slots and submits them.
  void pump() REQUIRES_LOCK(mutex_);
  void fill(Queue& queue) REQUIRES_LOCK(mutex_);
  Queue& queue_of(const Transfer& transfer) REQUIRES_LOCK(mutex_) {
    return transfer.writing ? writes_ : reads_;
  }
  std::optional<unsigned> index_of(const std::byte* start, Bytes bytes) const REQUIRES_LOCK(mutex_);
  void warn_if_slow(Queue& queue, bool writing) REQUIRES_LOCK(mutex_);
  void issue(unsigned slot) REQUIRES_LOCK(mutex_);
  // Takes the completions that are there.
  void reap() REQUIRES_LOCK(mutex_);
  void complete(unsigned slot, int result) REQUIRES_LOCK(mutex_);
  void await_completion() REQUIRES_LOCK(mutex_);
  Status failure(const Transfer& transfer, const Slot& slot, int result) const;
  // The transfer's outcome, after which the ticket is gone; kNotReady while it runs.
  Status take_outcome(IoTicket ticket) REQUIRES_LOCK(mutex_);

  const SpillFile file_;
  const std::string directory_;
  const std::unique_ptr<const Clock> clock_;
  mutable Mutex mutex_{LockRank::kFileIo};
  Condition progress_;
  io_uring ring_ GUARDED_BY(mutex_) = {};
  bool ring_made_ = false;
  bool file_registered_ GUARDED_BY(mutex_) = false;
  std::vector<unsigned> free_indices_ GUARDED_BY(mutex_);  // of the table of attached pieces
  std::map<const std::byte*, Attached> attached_ GUARDED_BY(mutex_);
  bool someone_waits_ GUARDED_BY(mutex_) = false;
  std::uint64_t last_ticket_ GUARDED_BY(mutex_) = 0;
  std::unordered_map<IoTicket, Transfer> transfers_ GUARDED_BY(mutex_);
  Queue reads_ GUARDED_BY(mutex_);
  Queue writes_ GUARDED_BY(mutex_);
  std::array<Slot, kSlots> slots_ GUARDED_BY(mutex_);
  std::vector<unsigned> free_slots_ GUARDED_BY(mutex_);
};

}  // namespace tessera
