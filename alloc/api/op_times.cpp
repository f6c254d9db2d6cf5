#include "api/op_times.hpp"

#include <functional>
#include <string>
#include <utility>

#include "residency/streams/stream_table.hpp"

namespace tessera {

bool OpTimes::is_due(const TraceWriter::OpKind& kind) {
  const std::size_t hash = std::hash<std::string>()(kind.name) ^ ((kind.bytes.value() + kind.blocks) * 31);
  const auto seen = seen_.find(hash);
  if (seen == seen_.end()) return seen_.size() < kMostKinds && seen_.emplace(hash, 1).second;
  const std::uint32_t before = seen->second++;
  return before < kFirstOnes || before % kOneIn == 0;
}

Stopwatches& OpTimes::watches_of(DeviceId device) {
  std::unique_ptr<Stopwatches>& watches = watches_[device];
  if (!watches) watches = std::make_unique<Stopwatches>(driver_, device, kMostUnder);
  return *watches;
}

void OpTimes::begin(const TraceWriter::OpKind& kind, StreamId stream) {
  if (stream == kNoStream) return;
  const MutexLock lock(mutex_);
  if (running_.contains(stream.value()) || !is_due(kind)) return;
  Stopwatches& watches = watches_of(kind.device);
  if (const auto watch = watches.start(stream)) running_[stream.value()] = {kind, &watches, *watch};
}

void OpTimes::end(StreamId stream) {
  {
    const MutexLock lock(mutex_);
    const auto running = running_.find(stream.value());
    if (running == running_.end()) return;  // so a launch that is not timed does not poll the device either
    running->second.watches->stop(running->second.watch, stream);
    under_way_.push_back(std::move(running->second));
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
    if (time.is_ok()) trace_.took(oldest.kind, time.value());
    under_way_.pop_front();
  }
}

}  // namespace tessera
