#include "tier/thread_io.hpp"

#include <pthread.h>
#include <signal.h>

#include <utility>

#include "base/thread.hpp"
#include "tier/plain_transfer.hpp"

namespace tessera {
namespace {

// Threads created while it lives start with all signals blocked: the program's handlers expect its own threads, and a
// write beyond the file size limit is then an error instead of a signal.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

Result<std::unique_ptr<ThreadIo>> ThreadIo::open(const std::string& directory, Bytes size,
                                                 std::unique_ptr<const Clock> clock) {
  TESSERA_TRY_ASSIGN(SpillFile file, make_spill_file(directory, size));
  std::unique_ptr<ThreadIo> io(new ThreadIo(std::move(file), directory, std::move(clock)));
  io->make_threads();
  return io;
}

ThreadIo::ThreadIo(SpillFile file, const std::string& directory, std::unique_ptr<const Clock> clock)
    : file_(std::move(file)),
      directory_(directory),
      clock_(std::move(clock)),
      queue_(directory, *clock_, QueueDepth(kThreads)) {}

ThreadIo::~ThreadIo() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    queue_.drop_waiting();
  }
  for (Side* const side : {&reads_, &writes_}) {
    side->work.notify_all();
    for (std::thread& thread : side->threads) thread.join();
  }
}

// Alternating, so that each direction has some where not all can be started.
void ThreadIo::make_threads() {
  const SignalsBlocked blocked;
  // The threads never read these lists, but start while they grow.
  reads_.threads.reserve(kThreads);
  writes_.threads.reserve(kThreads);
  for (unsigned made = 0; made < 2 * kThreads; ++made) {
    const bool writing = made % 2 != 0;
    std::thread thread;
    refusal_ = start_thread(thread, [this, writing, place = std::size_t{made / 2}] { serve(writing, place); });
    if (!refusal_.is_ok()) return end_most();
    side_of(writing).threads.push_back(std::move(thread));
  }
}

void ThreadIo::end_most() {
  {
    const MutexLock lock(mutex_);
    for (Side* const side : {&reads_, &writes_}) side->kept = 1;
  }
  for (Side* const side : {&reads_, &writes_}) {
    side->work.notify_all();
    for (; side->threads.size() > side->kept; side->threads.pop_back()) side->threads.back().join();
  }
}

void ThreadIo::serve(bool writing, std::size_t place) {
  const MutexLock lock(mutex_);
  while (!stopping_ && place < side_of(writing).kept) {
    if (!carry_out_one(writing)) side_of(writing).work.wait(mutex_);
  }
}

bool ThreadIo::carry_out_one(bool writing) NO_THREAD_SAFETY_ANALYSIS {
  auto chunk = queue_.next(writing);
  if (!chunk) return false;
  mutex_.unlock();
  const int error = carry_out(file_.descriptor(), *chunk);
  mutex_.lock();
  const bool over = queue_.end(*chunk, error);
  // A helping thread may have found the depth reached, and can continue now.
  if (over || side_of(writing).threads.empty()) progress_.notify_all();
  return true;
}

bool ThreadIo::help() {
  return (reads_.threads.empty() && carry_out_one(false)) || (writes_.threads.empty() && carry_out_one(true));
}

Result<IoTicket> ThreadIo::read(void* host, Bytes bytes, Bytes offset) { return start(false, host, bytes, offset); }

Result<IoTicket> ThreadIo::write(const void* host, Bytes bytes, Bytes offset) {
  // One kind of pointer for both directions; a write only reads from it.
  return start(true, const_cast<void*>(host), bytes, offset);
}

Result<IoTicket> ThreadIo::start(bool writing, void* host, Bytes bytes, Bytes offset) {
  Result<IoTicket> ticket = IoTicket();
  {
    const MutexLock lock(mutex_);
    ticket = queue_.start(writing, host, bytes, offset);
  }
  if (!ticket.is_ok()) return ticket;
  Side& side = side_of(writing);
  for (Bytes waked; waked < bytes; waked += TransferQueue::kChunk) {
    if (waked / TransferQueue::kChunk == side.threads.size()) break;
    side.work.notify_one();
  }
  return ticket;
}

Status ThreadIo::poll(IoTicket ticket) {
  const MutexLock lock(mutex_);
  Status outcome = queue_.take_outcome(ticket);
  if (outcome.code() != Code::kNotReady || !help()) return outcome;
  return queue_.take_outcome(ticket);
}

Status ThreadIo::wait(IoTicket ticket) {
  const MutexLock lock(mutex_);
  for (;;) {
    Status outcome = queue_.take_outcome(ticket);
    if (outcome.code() != Code::kNotReady) return outcome;
    if (!help()) progress_.wait(mutex_);
  }
}

Status ThreadIo::discard(Bytes offset, Bytes bytes) {
  return punch_hole(file_.descriptor(), offset, bytes, directory_);
}

}  // namespace tessera
