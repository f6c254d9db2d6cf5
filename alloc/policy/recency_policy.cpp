#include "policy/recency_policy.hpp"

#include <algorithm>

namespace tessera {
namespace {

struct Candidate {
  const RunPicture* run;
  double score;  // greater leaves earlier
};

// The wait until the next use, made longer for what is cheap to let go and shorter for what is
// dear. The factors are ratios of copies: a clean run saves one of the two (out and in again).
double score_of(const RunPicture& run, std::uint64_t now) {
  double score = static_cast<double>(RecencyPolicy::expected_wait(run, now)) + 1;
  if (run.bytes) {
    const double clean = static_cast<double>(run.clean.value()) / static_cast<double>(run.bytes.value());
    score *= 1 + clean;
  }
  return run.idle ? score : score / 2;
}

}  // namespace

std::uint64_t RecencyPolicy::expected_wait(const RunPicture& run, std::uint64_t now) {
  const std::uint64_t age = now > run.used ? now - run.used : 0;
  if (run.gap == 0 || age > 2 * run.gap) return age;
  return run.gap > age ? run.gap - age : 0;  // overdue a little: it may come any moment
}

Decision RecencyPolicy::decide(const Snapshot& snapshot) const {
  std::vector<Candidate> order;
  for (const RunPicture& run : snapshot.runs) order.push_back({&run, score_of(run, snapshot.epoch)});
  std::sort(order.begin(), order.end(), [](const Candidate& a, const Candidate& b) {
    if (a.run->dead != b.run->dead) return a.run->dead;
    if (a.score != b.score) return a.score > b.score;
    return a.run->run < b.run->run;
  });
  Decision decision;
  Bytes leaving;
  for (const Candidate& candidate : order) {
    if (leaving >= snapshot.need) break;
    decision.leave.push_back(candidate.run->run);
    leaving += candidate.run->bytes;
  }
  return decision;
}

}  // namespace tessera
