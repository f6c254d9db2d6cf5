#include "policy/ranking.hpp"

#include <algorithm>

namespace tessera {
namespace {

bool leaves_later(const RankedRun& a, const RankedRun& b) {
  if (a.run->dead != b.run->dead) return b.run->dead;
  if (a.run->dead && a.run->used != b.run->used) return a.run->used > b.run->used;
  if (a.score != b.score) return a.score < b.score;
  return a.run->run > b.run->run;
}

}  // namespace

Decision highest_first(std::vector<RankedRun> ranked, Bytes need) {
  std::make_heap(ranked.begin(), ranked.end(), leaves_later);
  Decision decision;
  for (Bytes leaving; leaving < need && !ranked.empty(); ranked.pop_back()) {
    std::pop_heap(ranked.begin(), ranked.end(), leaves_later);
    const RunPicture& run = *ranked.back().run;
    decision.victims.push_back(run.run);
    leaving += run.bytes;
  }
  return decision;
}

}  // namespace tessera
