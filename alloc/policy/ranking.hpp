// Scored runs, and the resulting decision: the highest scores are evicted until enough bytes are freed.
//
// Usually few of many runs are evicted, so they are taken from a heap instead of sorting all.
//
// Thread safety: stateless.
#pragma once

#include <vector>

#include "policy/snapshot.hpp"

namespace tessera {

struct RankedRun {
  const RunPicture* run = nullptr;
  double score = 0;  // higher scores are evicted first
};

// Dead runs come first whatever their score, least recently used first, because pending work on those ends
// first. Ties go to the lower name.
Decision highest_first(std::vector<RankedRun> ranked, Bytes need);

}  // namespace tessera
