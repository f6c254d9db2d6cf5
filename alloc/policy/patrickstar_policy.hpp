// PatrickStar: the chunk whose next moment of use is farthest leaves, counted around the iteration.
//
// Fang et al., "PatrickStar: Parallel Training of Pre-trained Models via Chunk-based Memory Management",
// TPDS 2022 (papers.md §4.1). A warm-up iteration records when each chunk is used; the next use is the
// first recorded moment after now, else the first of the next iteration; a chunk that is never used
// counts for farther than all. In warm-up all are equal, and ties go by name. Nothing is planned ahead.
//
// Not here: packing parameters into chunks of one size (runs are our chunks), and holding room back
// for memory it does not manage, of which there is none.
//
// Thread safety: stateless.
#pragma once

#include "policy/policy.hpp"

namespace tessera {

class PatrickstarPolicy final : public Policy {
 public:
  std::string_view name() const override { return "patrickstar"; }
  Decision decide(const Snapshot& snapshot) const override;
};

}  // namespace tessera
