#include "residency/pages/file_meter.hpp"

#include <utility>

#include "base/check.hpp"

namespace tessera {

void FileMeter::begin(Nanoseconds now) {
  if (in_flight_++ > 0) return;
  began_ = now;
  carried_ = {};
}

void FileMeter::end(Bytes bytes, Nanoseconds now) {
  DCHECK_GT(in_flight_, 0u);
  carried_ += bytes;
  if (--in_flight_ > 0 && carried_ < kMost) return;
  const Nanoseconds time = now - std::exchange(began_, now);
  const Bytes carried = std::exchange(carried_, Bytes());
  if (carried < kLeast) return;
  bytes_ += static_cast<double>(carried.value());
  seconds_ += static_cast<double>(time.value()) * 1e-9;
  if (bytes_ < kMemory) return;
  bytes_ /= 2;
  seconds_ /= 2;
}

}  // namespace tessera
