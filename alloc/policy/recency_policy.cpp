#include "policy/recency_policy.hpp"

#include <utility>

#include "policy/ranking.hpp"

namespace tessera {
namespace {

// A run with pending work can only be evicted when the queue has reached that work, and so can whatever waits
// for its memory. To be the better choice its next use must be much farther than that of an idle run. In
// replays of training 64 and 256 perform alike, 16 is slightly slower.
constexpr double kBusyPenalty = 64;

// The wait until the next use, scaled up for runs that are cheap to evict and down for expensive ones. The
// factors are ratios of copies: a clean run saves one of the two (out, and in again).
double score_of(const RunPicture& run, Epoch now) {
  double score = static_cast<double>(RecencyPolicy::expected_wait(run, now)) + 1;
  if (run.bytes) {
    const double clean = static_cast<double>(run.clean.value()) / static_cast<double>(run.bytes.value());
    score *= 1 + clean;
  }
  return run.idle ? score : score / kBusyPenalty;
}

}  // namespace

std::uint64_t RecencyPolicy::expected_wait(const RunPicture& run, Epoch now) {
  if (run.next >= now && !run.next.is_never()) return run.next - now;
  const std::uint64_t age = now > run.used ? now - run.used : 0;
  if (run.gap == 0 || age > 2 * run.gap) return age;
  return run.gap > age ? run.gap - age : 0;  // slightly overdue: it may be used at any moment
}

Decision RecencyPolicy::decide(const Snapshot& snapshot) const {
  std::vector<RankedRun> ranked;
  ranked.reserve(snapshot.runs.size());
  for (const RunPicture& run : snapshot.runs) ranked.push_back({&run, score_of(run, snapshot.epoch)});
  return highest_first(std::move(ranked), snapshot.need);
}

}  // namespace tessera
