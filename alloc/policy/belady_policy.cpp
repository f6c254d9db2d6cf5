#include "policy/belady_policy.hpp"

#include <limits>
#include <utility>

#include "policy/ranking.hpp"

namespace tessera {
namespace {

// Greater than any wait that is known, and greater yet for what was used longer ago.
double score_of(const RunPicture& run, std::uint64_t now) {
  if (run.next >= now && run.next != 0) return static_cast<double>(run.next - now);
  const std::uint64_t age = now > run.used ? now - run.used : 0;
  return static_cast<double>(std::numeric_limits<std::uint32_t>::max()) + static_cast<double>(age);
}

}  // namespace

Decision BeladyPolicy::decide(const Snapshot& snapshot) const {
  std::vector<RankedRun> ranked;
  ranked.reserve(snapshot.runs.size());
  for (const RunPicture& run : snapshot.runs) ranked.push_back({&run, score_of(run, snapshot.epoch)});
  return highest_first(std::move(ranked), snapshot.need);
}

}  // namespace tessera
