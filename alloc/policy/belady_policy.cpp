#include "policy/belady_policy.hpp"

#include <utility>

#include "policy/ranking.hpp"
#include "policy/recency_policy.hpp"

namespace tessera {
Decision BeladyPolicy::decide(const Snapshot& snapshot) const {
  std::vector<RankedRun> ranked;
  ranked.reserve(snapshot.runs.size());
  for (const RunPicture& run : snapshot.runs) {
    ranked.push_back({&run, static_cast<double>(RecencyPolicy::expected_wait(run, snapshot.epoch))});
  }
  return highest_first(std::move(ranked), snapshot.need);
}

}  // namespace tessera
