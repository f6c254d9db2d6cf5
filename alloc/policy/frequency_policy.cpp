#include "policy/frequency_policy.hpp"

#include <utility>

#include "policy/ranking.hpp"

namespace tessera {
namespace {

// Orders by the count; the age breaks ties, as a fraction below 1.
double rarity(const RunPicture& run, Epoch now) {
  const double age = static_cast<double>(now > run.used ? now - run.used : 0);
  return age / (age + 1) - static_cast<double>(run.often);
}

}  // namespace

Decision FrequencyPolicy::decide(const Snapshot& snapshot) const {
  std::vector<RankedRun> ranked;
  ranked.reserve(snapshot.runs.size());
  for (const RunPicture& run : snapshot.runs) ranked.push_back({&run, rarity(run, snapshot.epoch)});
  return highest_first(std::move(ranked), snapshot.need);
}

}  // namespace tessera
