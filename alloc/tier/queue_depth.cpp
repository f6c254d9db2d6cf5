#include "tier/queue_depth.hpp"

#include <algorithm>

namespace tessera {
namespace {

// So near to the best is as good as the best.
constexpr std::uint64_t kNearPercent = 97;

}  // namespace

void QueueDepth::ended(Bytes bytes, Nanoseconds now, bool full) {
  if (is_settled()) return;
  if (!full) {
    moved_ = Bytes();
    return;
  }
  const bool measuring = moved_ >= kSettling;
  moved_ += bytes;
  if (!measuring) {
    since_ = now;
    return;
  }
  if (moved_ < kSettling + kMeasured) return;
  const std::uint64_t took = std::max<std::uint64_t>((now - since_).value(), 1);
  // Bytes over nanoseconds; a stretch is far from where this would overflow.
  speeds_[candidate_][static_cast<std::size_t>(round_)] = kMeasured.value() * 1'000'000'000 / took;
  next();
}

void QueueDepth::next() {
  moved_ = Bytes();
  candidate_ = (candidate_ + 1) % kDepths.size();
  if (++measured_ < kDepths.size()) return;
  measured_ = 0;
  if (++round_ == kRounds) settle();
}

void QueueDepth::settle() {
  std::array<std::uint64_t, kDepths.size()> medians{};
  for (std::size_t i = 0; i < kDepths.size(); ++i) {
    std::sort(speeds_[i].begin(), speeds_[i].end());
    medians[i] = speeds_[i][kRounds / 2];
  }
  const std::uint64_t best = *std::max_element(medians.begin(), medians.end());
  candidate_ = 0;
  while (medians[candidate_] < best / 100 * kNearPercent) ++candidate_;
  speed_ = medians[candidate_];
}

}  // namespace tessera
