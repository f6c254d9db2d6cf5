// The load of a part of a placement graph, kept while groups join and leave.
//
// Thread safety: none; a search owns one.
#pragma once

#include <vector>

#include "plan/ordered_groups.hpp"
#include "plan/placement_graph.hpp"

namespace tessera {

class PartLoad {
 public:
  struct Sums {
    double accelerator = 0;  // time of the nodes there
    double cpu = 0;
    double transfer = 0;  // what goes in and out
    Bytes bytes;
    std::size_t cpu_only = 0;
  };

  // Both must outlive it. The part is empty at first.
  PartLoad(const PlacementGraph& graph, const OrderedGroups& groups);

  const Sums& sums() const { return sums_; }
  double on_accelerator() const { return sums_.accelerator + sums_.transfer; }
  double on_cpu() const { return sums_.cpu; }

  // REQUIRES: the group is not in the part. Gives the sums as they were.
  Sums join(std::size_t group);
  // REQUIRES: the last group that joined and did not leave. `before` is what join gave, so that
  // rounding cannot add up.
  void leave(std::size_t group, const Sums& before);

 private:
  double transfer_of(std::size_t node) const;
  void join_node(std::size_t node);

  const PlacementGraph& graph_;
  const OrderedGroups& groups_;
  std::vector<std::vector<std::size_t>> sources_;  // by node: whose outputs it needs
  std::vector<std::size_t> readers_;               // by node: edges that leave it
  std::vector<std::size_t> readers_inside_;        // those that end in the part
  std::vector<bool> inside_;
  Sums sums_;
};

}  // namespace tessera
