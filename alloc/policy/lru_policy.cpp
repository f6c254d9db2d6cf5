#include "policy/lru_policy.hpp"

#include <algorithm>

namespace tessera {

Decision LruPolicy::decide(const Snapshot& snapshot) const {
  std::vector<const RunPicture*> order;
  for (const RunPicture& run : snapshot.runs) order.push_back(&run);
  std::sort(order.begin(), order.end(), [](const RunPicture* a, const RunPicture* b) {
    if (a->dead != b->dead) return a->dead;
    if (a->used != b->used) return a->used < b->used;
    return a->run < b->run;
  });
  Decision decision;
  Bytes leaving;
  for (const RunPicture* run : order) {
    if (leaving >= snapshot.need) break;
    decision.leave.push_back(run->run);
    leaving += run->bytes;
  }
  return decision;
}

}  // namespace tessera
