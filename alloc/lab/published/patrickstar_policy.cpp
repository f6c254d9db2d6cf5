#include "lab/published/patrickstar_policy.hpp"

#include <limits>
#include <utility>

#include "policy/ranking.hpp"

namespace tessera {
namespace {

double moments_until_use(const RunPicture& run, Epoch now) {
  if (run.next > now) return static_cast<double>(run.next - now);
  return static_cast<double>(std::numeric_limits<std::uint32_t>::max());
}

}  // namespace

Decision PatrickstarPolicy::decide(const Snapshot& snapshot) const {
  std::vector<RankedRun> ranked;
  ranked.reserve(snapshot.runs.size());
  for (const RunPicture& run : snapshot.runs) {
    ranked.push_back({&run, moments_until_use(run, snapshot.epoch)});
  }
  return highest_first(std::move(ranked), snapshot.need);
}

}  // namespace tessera
