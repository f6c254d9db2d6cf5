// Tracks by how many bytes each step of an iteration exceeds the device memory as intervals are taken.
//
// The saving target of the published planners: they choose until no step exceeds it. A run counts in all steps
// except those inside its dead gaps and those in which a taken interval certainly keeps it off the device:
// after its copy out has completed and before its fetch begins.
//
// Thread safety: const calls from any thread.
#pragma once

#include <cstddef>
#include <vector>

#include "planning/gap_time.hpp"

namespace tessera {

class Occupancy {
 public:
  Occupancy(const Iteration& iteration, Bytes device, const GapTime& time);

  bool fits() const { return over_ == 0; }
  // Whether it reduces the excess of a step that is over the limit.
  bool helps(const OffloadInterval& interval) const;
  void take(const OffloadInterval& interval);

 private:
  // Stops when visit(step) returns false.
  template <class Visit>
  void for_each_step(const OffloadInterval& interval, Visit visit) const;

  const Iteration& iteration_;
  const GapTime& time_;
  std::vector<double> excess_;
  std::size_t over_ = 0;  // the number of steps with excess
};

}  // namespace tessera
