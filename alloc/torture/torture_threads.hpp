// The threads of a torture program: each does what it is told, one at a time and in turn.
//
// So what a thread keeps for itself is there (its cached blocks, its tags), and goes when it ends, while nothing
// depends on how the system schedules them.
//
// Thread safety: the thread that made it is number 0, and the only one to call.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <semaphore>
#include <thread>

namespace tessera {

class TortureThreads {
 public:
  explicit TortureThreads(std::uint32_t count);
  ~TortureThreads() { end(); }
  TortureThreads(const TortureThreads&) = delete;
  TortureThreads& operator=(const TortureThreads&) = delete;

  // Has the thread do it, and waits. One that could not be had, or has ended: the caller does it.
  void run(std::uint32_t number, const std::function<void()>& work);
  // Ends all but the caller's own.
  void end();

 private:
  struct Thread {
    std::binary_semaphore told{0}, done{0};
    const std::function<void()>* work = nullptr;  // nothing: the end
    std::thread thread;
  };

  static void serve(Thread& thread);

  std::deque<Thread> others_;  // number 1 and up
};

}  // namespace tessera
