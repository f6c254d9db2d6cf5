// SwapAdvisor's swap planner: what leaves when each size class has a number of objects to hold runs in.
//
// Apart from the breeding (swapadvisor_policy.hpp), which asks it many times with other numbers.
//
// Thread safety: const after construction. The iteration and the machine outlive it.
// Invariant: a class has at least as many objects as one step needs of it.
#pragma once

#include <cstdint>
#include <vector>

#include "policy/plan_ground.hpp"

namespace tessera {

struct ObjectClass {
  Bytes object{};           // the largest run of the class: up to twice its smallest
  std::uint32_t least = 0;  // objects that one step needs at once
  std::uint32_t most = 0;   // runs there are
};

using ObjectCounts = std::vector<std::uint32_t>;  // per class

class ObjectWalk {
 public:
  ObjectWalk(const Iteration& iteration, const Machine& machine);

  const std::vector<ObjectClass>& classes() const { return classes_; }
  // What the objects may take: the device without what is pinned.
  Bytes capacity() const { return capacity_; }
  Bytes bytes_of(const ObjectCounts& counts) const;
  ObjectCounts least_counts() const;
  // The same share of each class beyond what it needs at least, so that all fit if the least do.
  ObjectCounts even_counts() const;
  // REQUIRES: between least and most of each class.
  AbsencePlan plan(const ObjectCounts& counts) const;

 private:
  friend class ObjectTurns;
  void make_classes();
  void index_gaps();

  PlanGround ground_;
  Bytes capacity_;
  std::vector<ObjectClass> classes_;
  std::vector<std::uint32_t> class_of_;     // of each run; kNoClass for those that stay
  std::vector<Gap> gaps_;                   // all of them
  std::vector<std::uint32_t> gap_of_use_;   // the gap that follows each use
};

}  // namespace tessera
