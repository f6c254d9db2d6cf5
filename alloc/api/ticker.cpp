#include "api/ticker.hpp"

#include <chrono>
#include <utility>

#include "base/log.hpp"
#include "base/thread.hpp"

namespace tessera {
namespace {

constexpr std::chrono::milliseconds kBetweenCalls{250};

}  // namespace

Ticker::Ticker(const char* without, std::function<void()> call) : call_(std::move(call)) {
  const Status started = start_thread(thread_, [this] { run(); });
  if (!started.is_ok()) {
    log_line(LogLevel::kWarning, "{}: no background thread: {}", without, started.message());
  }
}

Ticker::~Ticker() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Ticker::run() {
  for (;;) {
    {
      const MutexLock lock(mutex_);
      const auto until = std::chrono::steady_clock::now() + kBetweenCalls;
      for (auto now = until - kBetweenCalls; !stopping_ && now < until; now = std::chrono::steady_clock::now()) {
        (void)changed_.wait_for(mutex_, until - now);
      }
      if (stopping_) return;
    }
    call_();
  }
}

}  // namespace tessera
