#include "residency/eviction/spare_room.hpp"

#include <algorithm>

#include "base/page_class.hpp"

namespace tessera {

void SpareRoom::note_leaving(Bytes bytes, Nanoseconds now) {
  if (now - began_ >= kWindow) {
    left_ = {now - began_ < kWindow * 2 ? left_[1] : Bytes(), Bytes()};
    began_ = now;
  }
  left_[1] += bytes;
  once_ = (once_ * 7 + bytes) / 8;
}

Bytes SpareRoom::low(Bytes capacity, Nanoseconds now) const {
  const Nanoseconds since = now - began_;
  if (since >= kWindow * 2) return {};
  // The current window counts as far as it has elapsed.
  const double span = static_cast<double>((since + kWindow).value());
  const double rate = static_cast<double>((left_[0] + left_[1]).value()) / span;
  const double bytes = rate * static_cast<double>((wait_ + copy_).value());
  const Bytes wanted = std::min(std::max(Bytes(static_cast<std::uint64_t>(bytes)), once_ * 2), capacity / kMostPart);
  return wanted < kBasePage ? Bytes() : wanted;
}

void SpareRoom::blend(Nanoseconds& mean, Nanoseconds time) { mean = (mean * 7 + time) / 8; }

}  // namespace tessera
