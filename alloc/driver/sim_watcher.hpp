// Who is told what the engines of simulated devices have carried out, in virtual time.
//
// Events on a stream say when what stands before them is over, and the engine looks at them now and then; this is
// told of each piece of work, to the nanosecond.
//
// Thread safety: told by the thread that lets time pass, under the engines' lock: it may not call the driver.
#pragma once

#include "base/units.hpp"
#include "driver/sim_schedule.hpp"
#include "driver/sim_work.hpp"

namespace tessera {

class SimWatcher {
 public:
  virtual ~SimWatcher() = default;

  virtual void ran(DeviceId device, SimEngine engine, const SimWork& work, Nanoseconds begin, Nanoseconds end) = 0;
};

}  // namespace tessera
