// The load of a part of a placement graph, updated incrementally as groups join and leave.
//
// Thread safety: none; a search owns one.
#pragma once

#include <vector>

#include "lab/arena/ordered_groups.hpp"
#include "lab/arena/placement_graph.hpp"

namespace tessera {

class PartLoad {
 public:
  struct Sums {
    double accelerator = 0;  // total time of its nodes on an accelerator
    double cpu = 0;
    double transfer = 0;  // outputs that cross the border of the part, in both directions
    Bytes bytes;
    std::size_t cpu_only = 0;
  };

  // Both arguments must outlive it. The part is initially empty.
  PartLoad(const PlacementGraph& graph, const OrderedGroups& groups);

  const Sums& sums() const { return sums_; }
  double on_accelerator() const { return sums_.accelerator + sums_.transfer; }
  double on_cpu() const { return sums_.cpu; }

  // REQUIRES: the group is not in the part. Returns the previous sums.
  Sums join(std::size_t group);
  // REQUIRES: `group` is the latest one that joined and has not left. `before` is what join() returned, so that
  // rounding errors do not accumulate.
  void leave(std::size_t group, const Sums& before);

 private:
  double transfer_of(std::size_t node) const;
  void join_node(std::size_t node);

  const PlacementGraph& graph_;
  const OrderedGroups& groups_;
  std::vector<std::vector<std::size_t>> sources_;  // per node: the nodes it reads
  std::vector<std::size_t> readers_;               // per node: its outgoing edges
  std::vector<std::size_t> readers_inside_;        // of those, the ones that end in the part
  std::vector<bool> inside_;
  Sums sums_;
};

}  // namespace tessera
