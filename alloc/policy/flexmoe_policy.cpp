#include "policy/flexmoe_policy.hpp"

#include <utility>

#include "policy/ranking.hpp"

namespace tessera {
namespace {

double rarity(const RunPicture& run, std::uint64_t now) {
  const double age = static_cast<double>(now > run.used ? now - run.used : 0);
  if (run.gap == 0) return age + 1;  // as if its use before had been as long before that
  return (age + static_cast<double>(run.gap)) / 2;
}

}  // namespace

Decision FlexmoePolicy::decide(const Snapshot& snapshot) const {
  std::vector<RankedRun> ranked;
  ranked.reserve(snapshot.runs.size());
  for (const RunPicture& run : snapshot.runs) ranked.push_back({&run, rarity(run, snapshot.epoch)});
  return highest_first(std::move(ranked), snapshot.need);
}

}  // namespace tessera
