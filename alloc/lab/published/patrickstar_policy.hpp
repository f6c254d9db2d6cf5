// PatrickStar: evicts the chunk with the farthest next moment of use, counted around the iteration.
//
// Fang et al., "PatrickStar: Parallel Training of Pre-trained Models via Chunk-based Memory Management", TPDS
// 2022. A warm-up iteration records when each chunk is used. The next use is the first recorded moment after
// now, else the first of the next iteration; a chunk that is never used counts as the farthest. During warm-up
// all are equal, and ties go by name. Nothing is planned ahead.
//
// Not implemented: packing parameters into chunks of one size (runs are the chunks), and a cap for each moment of the
// iteration, for memory that it does not manage: evictions make room for that when the driver is short of it
// (docs/decisions/0029-a-budget-that-yields.md), and no plan knows ahead when it will be.
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
