// What simulated devices of several processes have in common: their memory, and the time of their engines.
//
// A SimDriver with one (SimOptions::hardware) has devices that other processes use too: each frame is taken from what
// all of them have together, and an engine carries out the work of one process at a time. For virtual time there is
// VirtualHardware (virtual_hardware.hpp).
//
// Thread safety: every call may be made from any thread.
#pragma once

#include "base/units.hpp"
#include "sim/sim_schedule.hpp"

namespace tessera {

class SimCommonMemory {
 public:
  virtual ~SimCommonMemory() = default;

  // Whether the device had these bytes. What a process has taken is free when it ends.
  virtual bool take(DeviceId device, Bytes bytes) = 0;
  virtual void give(DeviceId device, Bytes bytes) = 0;
  virtual Bytes free(DeviceId device) = 0;
};

class SimHardware : public SimCommonMemory {
 public:
  // Around each piece of work of an engine. enter() waits while it is another process's turn.
  virtual void enter(DeviceId device, SimEngine engine) = 0;
  // `more`: this process has more work for the engine, so it may keep its turn.
  virtual void leave(DeviceId device, SimEngine engine, bool more) = 0;
  // In the middle of work, where it may be interrupted: waits if the turn of this process is over.
  virtual void pause(DeviceId device, SimEngine engine) = 0;
};

// The turn in which the calling thread carries out work, while it does.
class SimTurn {
 public:
  // Enters. REQUIRES: `hardware` outlives it.
  SimTurn(SimHardware& hardware, DeviceId device, SimEngine engine);
  // REQUIRES: end() was called.
  ~SimTurn();
  SimTurn(const SimTurn&) = delete;
  SimTurn& operator=(const SimTurn&) = delete;

  void end(bool more);
  void pause() { hardware_.pause(device_, engine_); }
  // Null outside of work, and on a device that no other process uses.
  static SimTurn* current();

  // A scope in which the work only waits for other work: others have the engine meanwhile.
  class Outside {
   public:
    Outside();
    ~Outside();
    Outside(const Outside&) = delete;
    Outside& operator=(const Outside&) = delete;
  };

 private:
  SimHardware& hardware_;
  const DeviceId device_;
  const SimEngine engine_;
};

}  // namespace tessera
