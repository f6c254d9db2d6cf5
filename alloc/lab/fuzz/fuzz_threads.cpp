#include "lab/fuzz/fuzz_threads.hpp"

#include "base/log.hpp"
#include "base/thread.hpp"

namespace tessera {

FuzzThreads::FuzzThreads(std::uint32_t count) {
  for (std::uint32_t i = 1; i < count; ++i) {
    Thread& other = others_.emplace_back();
    const Status started = start_thread(other.thread, [&other] { serve(other); });
    if (!started.is_ok()) log_line(LogLevel::kDebug, "a fuzz program runs with fewer threads: {}", started.message());
  }
}

void FuzzThreads::serve(Thread& thread) {
  for (;;) {
    thread.told.acquire();
    if (thread.work == nullptr) return;
    (*thread.work)();
    thread.done.release();
  }
}

void FuzzThreads::run(std::uint32_t number, const std::function<void()>& work) {
  if (number == 0 || number > others_.size() || !others_[number - 1].thread.joinable()) return work();
  Thread& other = others_[number - 1];
  other.work = &work;
  other.told.release();
  other.done.acquire();
}

void FuzzThreads::end() {
  for (Thread& other : others_) {
    if (!other.thread.joinable()) continue;
    other.work = nullptr;
    other.told.release();
    other.thread.join();
  }
}

}  // namespace tessera
