// FileIo by threads that call pread and pwrite: for systems that refuse io_uring, as containers do by default.
//
// Each direction has its own threads, so that reads never wait behind writes; their number bounds what is in flight. A
// direction without threads is served by the threads that poll or wait: a poll carries out at most one chunk, a wait as
// many as it needs. The program's signals never run on these threads.
//
// Thread safety: as file_io.hpp; one ticket is polled or waited for by one thread.
//
// Invariants: at most kThreads chunks are in flight in each direction; a call is repeated only where plain_transfer.hpp
// permits it.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "tier/file_io.hpp"
#include "tier/spill_file.hpp"
#include "tier/transfer_queue.hpp"

namespace tessera {

class ThreadIo final : public FileIo {
 public:
  // Per direction. A chunk of a mebibyte is many requests to a disk, so a few threads keep it busy.
  static constexpr unsigned kThreads = 8;

  // A spill file of `size` bytes in `directory`, with speeds measured by `clock`. Where not all threads can be started,
  // all but one per direction end again: the limit on tasks also applies to the program. Errors: kIo with the directory
  // and the reason.
  static Result<std::unique_ptr<ThreadIo>> open(const std::string& directory, Bytes size,
                                                std::unique_ptr<const Clock> clock = std::make_unique<SteadyClock>());
  // Waits for what is in flight; drops what has not started.
  ~ThreadIo() override;
  ThreadIo(const ThreadIo&) = delete;
  ThreadIo& operator=(const ThreadIo&) = delete;

  const char* name() const override { return threads() > 0 ? "threads" : "calls"; }
  Result<IoTicket> read(void* host, Bytes bytes, Bytes offset) override;
  Result<IoTicket> write(const void* host, Bytes bytes, Bytes offset) override;
  Status poll(IoTicket ticket) override;
  Status wait(IoTicket ticket) override;
  Status discard(Bytes offset, Bytes bytes) override;

  // Threads started in both directions, and why there are no more.
  unsigned threads() const { return static_cast<unsigned>(reads_.threads.size() + writes_.threads.size()); }
  const Status& refusal() const { return refusal_; }

 private:
  struct Side {
    std::vector<std::thread> threads;  // fixed after open
    Condition work;
    std::size_t kept = kThreads;  // threads beyond this index end; guarded by mutex_
  };

  ThreadIo(SpillFile file, const std::string& directory, std::unique_ptr<const Clock> clock);

  void make_threads();
  void end_most();
  Side& side_of(bool writing) { return writing ? writes_ : reads_; }
  Result<IoTicket> start(bool writing, void* host, Bytes bytes, Bytes offset);
  // The main function of the thread at this index of its side's list.
  void serve(bool writing, std::size_t place);
  // Carries out one chunk; false when there is none to start.
  bool carry_out_one(bool writing) REQUIRES_LOCK(mutex_);
  // The same for directions without threads.
  bool help() REQUIRES_LOCK(mutex_);

  const SpillFile file_;
  const std::string directory_;
  const std::unique_ptr<const Clock> clock_;
  Side reads_;
  Side writes_;
  Status refusal_;
  Mutex mutex_{LockRank::kFileIo};
  Condition progress_;
  TransferQueue queue_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
};

}  // namespace tessera
