#include "api/op_times.hpp"

#include <functional>

#include "residency/stream_table.hpp"

namespace tessera {

bool OpTimes::is_due(const Op& op) {
  const std::size_t kind = std::hash<std::string_view>()(op.name) ^ std::hash<std::uint64_t>()(op.bytes.value() * 31);
  const auto seen = seen_.find(kind);
  if (seen == seen_.end()) return seen_.size() < kMostKinds && seen_.emplace(kind, 1).second;
  const std::uint32_t before = seen->second++;
  return before < kFirstOnes || before % kOneIn == 0;
}

Stopwatches& OpTimes::watches_of(DeviceId device) {
  std::unique_ptr<Stopwatches>& watches = watches_[device];
  if (!watches) watches = std::make_unique<Stopwatches>(driver_, device, kMostUnder);
  return *watches;
}

void OpTimes::begin(const Op& op, StreamId stream) {
  if (stream == kNoStream) return;
  const MutexLock lock(mutex_);
  if (running_.contains(stream.value()) || !is_due(op)) return;
  Stopwatches& watches = watches_of(op.device);
  if (const auto watch = watches.start(stream)) running_[stream.value()] = {op.number, &watches, *watch};
}

void OpTimes::end(StreamId stream) {
  {
    const MutexLock lock(mutex_);
    const auto running = running_.find(stream.value());
    if (running == running_.end()) return;  // so a launch that is not timed does not ask the device either
    running->second.watches->stop(running->second.watch, stream);
    under_way_.push_back(running->second);
    running_.erase(running);
  }
  look();
}

void OpTimes::look() {
  const MutexLock lock(mutex_);
  while (!under_way_.empty()) {
    const Running& oldest = under_way_.front();
    const Result<Nanoseconds> time = oldest.watches->read(oldest.watch);
    if (time.status().code() == Code::kNotReady) return;
    if (time.is_ok()) trace_.took(oldest.op, time.value());
    under_way_.pop_front();
  }
}

}  // namespace tessera
