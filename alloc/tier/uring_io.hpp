// FileIo over io_uring: many chunks in flight at once, without a thread of ours.
//
// Chunks beyond the depth (transfer_queue.hpp) wait here; every call that starts, polls or waits for a transfer
// advances the queue. The file and attached memory are registered with the ring where the system permits; otherwise
// each request names them.
//
// Systems disable io_uring in part, or later: a worker cannot be created at a limit on processes, a call is refused by
// a filter. So no request is retried without end. One that failed for a reason other than the disk is given to the ring
// at most once more, then to pread or pwrite on the thread that noticed; once the kernel accepts no more requests, all
// later ones are. The bytes are correct in any case.
//
// The ring has one lock. The one thread that waits for completions does so without it, and only that thread takes
// completions meanwhile.
//
// Thread safety: as file_io.hpp; one ticket is polled or waited for by one thread.
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
  // Pieces of memory that may be attached; others are used without registration.
  static constexpr unsigned kMaxAttached = 4096;
  // If no request completes for this long, requests that no worker has started are cancelled.
  static constexpr std::chrono::milliseconds kPatience{10'000};

  // A spill file of `size` bytes in `directory`, with speeds measured by `clock`. The ring is tried before the file is
  // made. Errors: kNotSupported with the refused call and the reason; kIo with the directory and the reason.
  static Result<std::unique_ptr<UringIo>> open(const std::string& directory, Bytes size,
                                               std::unique_ptr<const Clock> clock = std::make_unique<SteadyClock>(),
                                               std::chrono::milliseconds patience = kPatience);
  // Waits for what is in flight; drops what has not started.
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

  // Pieces that the system registered; for tests and benchmarks.
  std::size_t attached() const;

 private:
  struct Slot {
    std::optional<Chunk> chunk;  // nothing in a free slot
    bool again = false;          // it was given to the ring a second time
  };
  struct Attached {
    unsigned index;
    Bytes bytes;
  };

  UringIo(const std::string& directory, std::unique_ptr<const Clock> clock, std::chrono::milliseconds patience);

  // Makes the ring, and has a kernel worker carry out a no-op request.
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
  // The kernel accepts no more requests: carries out those it has not taken without it.
  void give_up_ring(int error) REQUIRES_LOCK(mutex_);
  // Takes the available completions.
  void reap() REQUIRES_LOCK(mutex_);
  void complete(unsigned slot, int result) REQUIRES_LOCK(mutex_);
  void finish(unsigned slot, int error) REQUIRES_LOCK(mutex_);
  // Returns 0, or the error of a plain call. `reason`: why the ring did not carry it out.
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
  std::vector<unsigned> free_indices_ GUARDED_BY(mutex_);  // free entries in the table of attached pieces
  std::map<const std::byte*, Attached> attached_ GUARDED_BY(mutex_);
  bool someone_waits_ GUARDED_BY(mutex_) = false;
  TransferQueue queue_ GUARDED_BY(mutex_);
  std::array<Slot, kSlots> slots_ GUARDED_BY(mutex_);
  std::vector<unsigned> free_slots_ GUARDED_BY(mutex_);
  // Requests in the ring that the kernel has not taken yet, in order: the slot, or kNobody.
  std::deque<unsigned> unsubmitted_ GUARDED_BY(mutex_);
  int refusals_ GUARDED_BY(mutex_) = 0;  // consecutive
  bool given_up_ GUARDED_BY(mutex_) = false;
  bool said_ GUARDED_BY(mutex_) = false;
};

}  // namespace tessera
