// Runs with a score each, and the decision that follows: the highest scores leave until it is enough.
//
// Few of many leave, so they are picked from a heap instead of sorting all.
//
// Thread safety: stateless.
#pragma once

#include <vector>

#include "policy/snapshot.hpp"

namespace tessera {

struct RankedRun {
  const RunPicture* run = nullptr;
  double score = 0;  // greater leaves earlier
};

// Dead runs come first whatever their score, those used longest ago before others: work that is queued may
// still use them, and theirs is over first. Of equals, the one with the lower name.
Decision highest_first(std::vector<RankedRun> ranked, Bytes need);

}  // namespace tessera
