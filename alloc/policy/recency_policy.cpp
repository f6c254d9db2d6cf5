#include "policy/recency_policy.hpp"

#include <utility>

#include "policy/ranking.hpp"

namespace tessera {
namespace {

// A run that queued work still uses leaves when the queue has come to that, and so does what waits for
// its room: it has to be expected much later than an idle one to be the better choice. In replays of
// training 64 and 256 do the same, 16 is a little slower.
constexpr double kBusyPenalty = 64;

// The wait until the next use, made longer for what is cheap to let go and shorter for what is
// dear. The factors are ratios of copies: a clean run saves one of the two (out and in again).
double score_of(const RunPicture& run, std::uint64_t now) {
  double score = static_cast<double>(RecencyPolicy::expected_wait(run, now)) + 1;
  if (run.bytes) {
    const double clean = static_cast<double>(run.clean.value()) / static_cast<double>(run.bytes.value());
    score *= 1 + clean;
  }
  return run.idle ? score : score / kBusyPenalty;
}

}  // namespace

std::uint64_t RecencyPolicy::expected_wait(const RunPicture& run, std::uint64_t now) {
  if (run.next >= now && run.next != 0) return run.next - now;
  const std::uint64_t age = now > run.used ? now - run.used : 0;
  if (run.gap == 0 || age > 2 * run.gap) return age;
  return run.gap > age ? run.gap - age : 0;  // overdue a little: it may come any moment
}

Decision RecencyPolicy::decide(const Snapshot& snapshot) const {
  std::vector<RankedRun> ranked;
  ranked.reserve(snapshot.runs.size());
  for (const RunPicture& run : snapshot.runs) ranked.push_back({&run, score_of(run, snapshot.epoch)});
  return highest_first(std::move(ranked), snapshot.need);
}

}  // namespace tessera
