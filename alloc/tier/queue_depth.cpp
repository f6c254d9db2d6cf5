#include "tier/queue_depth.hpp"

#include <algorithm>

namespace tessera {
namespace {

// A depth with this share of the best speed counts as equally good.
constexpr std::uint64_t kNearPercent = 97;

// The first to be measured is the one that suits most disks.
constexpr std::size_t kFirst = 2;

}  // namespace

QueueDepth::QueueDepth() : depths_(kDepths.begin(), kDepths.end()), candidate_(kFirst), speeds_(kDepths.size()) {}

QueueDepth::QueueDepth(unsigned only) : depths_{only}, candidate_(0), speeds_(1) {}

void QueueDepth::ended(Bytes bytes, Nanoseconds took, bool full) {
  if (is_settled()) return;
  if (!full) return begin_stretch();
  if (before_ < depth()) {
    ++before_;
    return;
  }
  moved_ += bytes;
  took_ += took;
  if (moved_ < kMeasured) return;
  // Bytes times 1e9 over nanoseconds; kMeasured is far from overflow.
  const std::uint64_t each = std::max<std::uint64_t>(took_.value() / depth(), 1);
  speeds_[candidate_][static_cast<std::size_t>(round_)] = moved_.value() * 1'000'000'000 / each;
  next();
}

void QueueDepth::begin_stretch() {
  before_ = 0;
  moved_ = Bytes();
  took_ = Nanoseconds();
}

void QueueDepth::next() {
  begin_stretch();
  candidate_ = (candidate_ + 1) % depths_.size();
  if (++measured_ < depths_.size()) return;
  measured_ = 0;
  if (++round_ == kRounds) settle();
}

void QueueDepth::settle() {
  std::vector<std::uint64_t> medians(depths_.size());
  for (std::size_t i = 0; i < depths_.size(); ++i) {
    std::sort(speeds_[i].begin(), speeds_[i].end());
    medians[i] = speeds_[i][kRounds / 2];
  }
  const std::uint64_t best = *std::max_element(medians.begin(), medians.end());
  candidate_ = 0;
  while (medians[candidate_] < best / 100 * kNearPercent) ++candidate_;
  speed_ = medians[candidate_];
}

}  // namespace tessera
