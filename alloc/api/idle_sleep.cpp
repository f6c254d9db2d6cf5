#include "api/idle_sleep.hpp"

#include "base/log.hpp"
#include "base/size_text.hpp"

namespace tessera {

void IdleSleep::start() {
  if (after_) ticker_ = std::make_unique<Ticker>("blocks do not sleep when idle", [this] { look(); });
}

void IdleSleep::stop() {
  stopping_.store(true);
  ticker_.reset();
}

void IdleSleep::look() {
  const Activity::Report now = activity_.look();
  if (now.asleep || now.idle < after_ || clock_.now() < not_before_) return;
  if (heaps_.all().begin() == heaps_.all().end()) return;
  if (!is_all_over()) {
    not_before_ = clock_.now() + after_;
    return;
  }
  const std::uint64_t before = activity_.uses();
  const auto interrupted = [&] { return stopping_.load() || activity_.uses() != before; };
  const Result<Moved> moved = hints_.sleep_unless(interrupted);
  if (moved.is_ok()) {
    log_line(LogLevel::kInfo, "idle: {} left the device, {} stayed", rounded_size(moved.value().moved),
             rounded_size(moved.value().stayed));
  } else {
    report_once(moved.status());
    not_before_ = clock_.now() + after_;
  }
}

// A kernel may run for longer than the time, and unannounced work cannot be seen.
bool IdleSleep::is_all_over() {
  for (DeviceHeap* const heap : heaps_.all()) {
    Residency& residency = heap->residency();
    if (!residency.automatic().is_on()) {
      report_once(Status(Code::kNotSupported, "the program's launches are not seen without the preload library"));
      return false;
    }
    const Status polled = residency.poll_streams();
    if (!polled.is_ok() || !residency.streams().passed(StreamTable::kAllStreams, residency.epoch())) return false;
  }
  return true;
}

void IdleSleep::report_once(const Status& status) {
  log_line(reported_ ? LogLevel::kDebug : LogLevel::kWarning, "blocks do not sleep when idle: {}", status.message());
  reported_ = true;
}

}  // namespace tessera
