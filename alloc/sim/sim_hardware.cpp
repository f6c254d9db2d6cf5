#include "sim/sim_hardware.hpp"

namespace tessera {
namespace {

thread_local SimTurn* turn_of_thread = nullptr;

}  // namespace

SimTurn::SimTurn(SimHardware& hardware, DeviceId device, SimEngine engine)
    : hardware_(hardware), device_(device), engine_(engine) {
  hardware_.enter(device_, engine_);
  turn_of_thread = this;
}

SimTurn::~SimTurn() { turn_of_thread = nullptr; }

void SimTurn::end(bool more) { hardware_.leave(device_, engine_, more); }

SimTurn* SimTurn::current() { return turn_of_thread; }

SimTurn::Outside::Outside() {
  SimTurn* const turn = current();
  if (turn != nullptr) turn->hardware_.leave(turn->device_, turn->engine_, false);
}

SimTurn::Outside::~Outside() {
  SimTurn* const turn = current();
  if (turn != nullptr) turn->hardware_.enter(turn->device_, turn->engine_);
}

}  // namespace tessera
