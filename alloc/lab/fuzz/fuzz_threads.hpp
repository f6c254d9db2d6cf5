// The threads of a fuzz program: each runs the work that it is given, one thread at a time.
//
// So thread-local state exists (cached blocks, tags) and is destroyed with its thread, while nothing depends on how the
// system schedules them.
//
// Thread safety: the thread that created the object is number 0, and the only one to call.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <semaphore>
#include <thread>

namespace tessera {

class FuzzThreads {
 public:
  explicit FuzzThreads(std::uint32_t count);
  ~FuzzThreads() { end(); }
  FuzzThreads(const FuzzThreads&) = delete;
  FuzzThreads& operator=(const FuzzThreads&) = delete;

  // Runs the work on that thread and waits. If the thread could not be started, or has ended, the caller runs it.
  void run(std::uint32_t number, const std::function<void()>& work);
  // Ends all threads but the caller's.
  void end();

 private:
  struct Thread {
    std::binary_semaphore told{0}, done{0};
    const std::function<void()>* work = nullptr;  // null: end
    std::thread thread;
  };

  static void serve(Thread& thread);

  std::deque<Thread> others_;  // numbers 1 and up
};

}  // namespace tessera
