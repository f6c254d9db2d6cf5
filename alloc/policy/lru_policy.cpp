#include "policy/lru_policy.hpp"

#include <utility>

#include "policy/ranking.hpp"

namespace tessera {

Decision LruPolicy::decide(const Snapshot& snapshot) const {
  std::vector<RankedRun> ranked;
  ranked.reserve(snapshot.runs.size());
  for (const RunPicture& run : snapshot.runs) ranked.push_back({&run, -static_cast<double>(run.used.value())});
  return highest_first(std::move(ranked), snapshot.need);
}

}  // namespace tessera
