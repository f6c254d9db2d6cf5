#include "residency/pages/link_meter.hpp"

namespace tessera {

void LinkMeter::before(StreamId stream) {
  if (resting_ > 0) {
    --resting_;
    return;
  }
  if (samples_.size() == kSamples) return;  // no watch is left until a rate is asked for
  running_ = watches_.start(stream);
}

void LinkMeter::after(StreamId stream, Bytes bytes) {
  if (!running_) return;
  if (watches_.stop(*running_, stream)) {
    samples_.push_back({*running_, bytes});
    ++timed_;
  } else {
    watches_.give_back(*running_);
  }
  running_.reset();
  if (timed_ == kSamples) {
    timed_ = 0;
    resting_ = kRest;
  }
}

void LinkMeter::read() {
  std::size_t kept = 0;
  for (const Sample& sample : samples_) {
    const Result<Nanoseconds> time = watches_.read(sample.watch);
    if (time.status().code() == Code::kNotReady) {
      samples_[kept++] = sample;
    } else if (time.is_ok()) {
      bytes_ += sample.bytes;
      seconds_ += static_cast<double>(time.value().value()) * 1e-9;
    }
  }
  samples_.resize(kept);
}

double LinkMeter::rate() {
  read();
  if (seconds_ > 0) rate_ = static_cast<double>(bytes_.value()) / seconds_;
  if (samples_.empty() && resting_ > 0) {  // each series is measured separately
    bytes_ = {};
    seconds_ = 0;
  }
  return rate_;
}

}  // namespace tessera
