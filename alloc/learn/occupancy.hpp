// How many bytes each step of an iteration has on the device beyond what fits, as absences are taken.
//
// The saving target of the published planners: they choose until no step is over. A run counts in
// all steps but those inside its dead gaps and those in which an absence taken keeps it away for certain,
// its copy out being over and its way back not begun.
//
// Thread safety: const calls from any thread.
#pragma once

#include <cstddef>
#include <vector>

#include "learn/gap_time.hpp"

namespace tessera {

class Occupancy {
 public:
  Occupancy(const Iteration& iteration, Bytes device, const GapTime& time);

  bool fits() const { return over_ == 0; }
  // Some step that is over would be less so.
  bool helps(const Absence& absence) const;
  void take(const Absence& absence);

 private:
  // Until visit(step) says false.
  template <class Visit>
  void for_each_step(const Absence& absence, Visit visit) const;

  const Iteration& iteration_;
  const GapTime& time_;
  std::vector<double> excess_;
  std::size_t over_ = 0;  // steps with any
};

}  // namespace tessera
