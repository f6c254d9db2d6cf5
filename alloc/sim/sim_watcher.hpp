// Observes what the engines of simulated devices have carried out, in virtual time.
//
// Events on a stream show when the work before them is over, and only when they are polled; this is called for each
// piece of work, with exact times.
//
// Thread safety: called on the thread that advances time, under the engines' lock: it must not call the driver.
#pragma once

#include "base/units.hpp"
#include "sim/sim_schedule.hpp"
#include "sim/sim_work.hpp"

namespace tessera {

class SimWatcher {
 public:
  virtual ~SimWatcher() = default;

  virtual void ran(DeviceId device, SimEngine engine, const SimWork& work, Nanoseconds begin, Nanoseconds end) = 0;
};

}  // namespace tessera
