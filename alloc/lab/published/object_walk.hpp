// SwapAdvisor's swap planner: determines what is evicted if each size class has a fixed number of objects that
// hold runs.
//
// Separate from the genetic search (swapadvisor_policy.hpp), which calls it many times with different numbers.
//
// Thread safety: const after construction. The iteration and the machine outlive it.
// Invariant: a class has at least as many objects as one step needs of it.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/plan_ground.hpp"

namespace tessera {

struct ObjectClass {
  Bytes object{};           // size of the largest run of the class; at most twice the smallest
  std::uint32_t least = 0;  // the number that one step needs at once
  std::uint32_t most = 0;   // the number of runs
};

using ObjectCounts = std::vector<std::uint32_t>;  // per class

class ObjectWalk {
 public:
  ObjectWalk(const Iteration& iteration, const Machine& machine);

  const std::vector<ObjectClass>& classes() const { return classes_; }
  // The bytes available to objects: the device minus pinned runs.
  Bytes capacity() const { return capacity_; }
  Bytes bytes_of(const ObjectCounts& counts) const;
  ObjectCounts least_counts() const;
  // Each class gets the same fraction of the runs beyond its minimum, so that everything fits if the minimum
  // does.
  ObjectCounts even_counts() const;
  // REQUIRES: each count is between least and most of its class.
  OffloadPlan plan(const ObjectCounts& counts) const;

 private:
  friend class ObjectTurns;
  void make_classes();
  void index_gaps();

  PlanGround ground_;
  Bytes capacity_;
  std::vector<ObjectClass> classes_;
  std::vector<std::uint32_t> class_of_;    // per run; kNoClass for those that stay
  std::vector<Gap> gaps_;                  // all gaps
  std::vector<std::uint32_t> gap_of_use_;  // per use, the gap that follows it
};

}  // namespace tessera
