// FileIo over io_uring: many chunks in flight at once, without a thread of ours.
//
// Chunks beyond the depth (transfer_queue.hpp) wait here; whoever starts, polls or waits for a transfer moves
// the queue on. The file, and memory that is attached, are registered with the ring where the system lets us;
// else each request names them again.
//
// Systems take io_uring away in part or later, too: a worker that cannot be made at a limit on processes, a call
// that a filter refuses. So no request is repeated without end. One that was not carried out for a reason that
// is not the disk's is given to the ring once more at most, then to pread or pwrite by the thread that found out;
// once the kernel takes no requests any more, all that follow are. The bytes are right in any case.
//
// The ring has one lock. The one thread that waits for completions does so without it, and is the only one to
// take completions meanwhile.
//
// Thread safety: as file_io.hpp says; one ticket is polled or waited for by one thread.
//
// Invariants: a chunk in flight has a slot; at most kSlots slots exist.
#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <liburing.h>

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "tier/file_io.hpp"
#include "tier/spill_file.hpp"
#include "tier/transfer_queue.hpp"

namespace tessera {

class UringIo final : public FileIo {
 public:
  static constexpr unsigned kSlots = 2 * QueueDepth::kMost;
  // Pieces of memory that may be attached; more are used without.
  static constexpr unsigned kMaxAttached = 4096;
  // With no end of any request for so long, those that no worker has begun are taken back.
  static constexpr std::chrono::milliseconds kPatience{10'000};

  // A spill file of `size` bytes in `directory`, whose speed is taken by `clock`. The ring is tried before the
  // file is made. Errors: kNotSupported with the call that was refused and why; kIo with the directory and the reason.
  static Result<std::unique_ptr<UringIo>> open(const std::string& directory, Bytes size,
                                               std::unique_ptr<const Clock> clock = std::make_unique<SteadyClock>(),
                                               std::chrono::milliseconds patience = kPatience);
  // Waits for what is in flight; what is not started is dropped.
  ~UringIo() override;
  UringIo(const UringIo&) = delete;
  UringIo& operator=(const UringIo&) = delete;

  const char* name() const override { return "io_uring"; }
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
  struct Slot {
    std::optional<Chunk> chunk;  // nothing in a slot that is free
    bool again = false;          // it was given to the ring a second time
  };
  struct Attached {
    unsigned index;
    Bytes bytes;
  };

  UringIo(const std::string& directory, std::unique_ptr<const Clock> clock, std::chrono::milliseconds patience);

  // Makes the ring, and has a worker of the kernel carry out a request that does nothing.
  Status make_ring() REQUIRES_LOCK(mutex_);
  Status register_file() REQUIRES_LOCK(mutex_);

  Result<IoTicket> start(bool writing, void* host, Bytes bytes, Bytes offset);
  // Gives waiting chunks to the kernel.
  void pump() REQUIRES_LOCK(mutex_);
  void fill(bool writing) REQUIRES_LOCK(mutex_);
  std::optional<unsigned> index_of(const std::byte* start, Bytes bytes) const REQUIRES_LOCK(mutex_);
  void issue(unsigned slot) REQUIRES_LOCK(mutex_);
  void prepare(io_uring_sqe* entry, const Chunk& chunk) const REQUIRES_LOCK(mutex_);
  void submit() REQUIRES_LOCK(mutex_);
  // The kernel takes no requests any more: what it has not taken is done without it.
  void give_up_ring(int error) REQUIRES_LOCK(mutex_);
  // Takes the completions that are there.
  void reap() REQUIRES_LOCK(mutex_);
  void complete(unsigned slot, int result) REQUIRES_LOCK(mutex_);
  void finish(unsigned slot, int error) REQUIRES_LOCK(mutex_);
  // 0, or what a plain call ends with. `reason`: why the ring did not carry it out.
  int do_without_ring(unsigned slot, int reason) REQUIRES_LOCK(mutex_);
  void await_completion() REQUIRES_LOCK(mutex_);
  void take_back() REQUIRES_LOCK(mutex_);
  void say_once(int reason) REQUIRES_LOCK(mutex_);

  const std::string directory_;
  const std::unique_ptr<const Clock> clock_;
  const std::chrono::milliseconds patience_;
  SpillFile file_;
  mutable Mutex mutex_{LockRank::kFileIo};
  Condition progress_;
  io_uring ring_ GUARDED_BY(mutex_) = {};
  bool ring_made_ = false;
  bool file_registered_ GUARDED_BY(mutex_) = false;
  std::vector<unsigned> free_indices_ GUARDED_BY(mutex_);  // of the table of attached pieces
  std::map<const std::byte*, Attached> attached_ GUARDED_BY(mutex_);
  bool someone_waits_ GUARDED_BY(mutex_) = false;
  TransferQueue queue_ GUARDED_BY(mutex_);
  std::array<Slot, kSlots> slots_ GUARDED_BY(mutex_);
  std::vector<unsigned> free_slots_ GUARDED_BY(mutex_);
  // Of what lies in the ring and was not taken by the kernel yet, in order: its slot, or kNobody.
  std::deque<unsigned> unsubmitted_ GUARDED_BY(mutex_);
  int refusals_ GUARDED_BY(mutex_) = 0;  // of requests in a row
  bool given_up_ GUARDED_BY(mutex_) = false;
  bool said_ GUARDED_BY(mutex_) = false;
};

}  // namespace tessera
