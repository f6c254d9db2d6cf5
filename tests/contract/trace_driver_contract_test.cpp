// A trace driver does not change the behaviour of the driver that it records.
#include "driver_contract.hpp"
#include "sim/trace_driver.hpp"
#include "sim_machine.hpp"

namespace tessera::contract {

struct TraceMachine : SimMachine {
  TraceDriver& driver() { return trace; }
  TraceDriver trace{SimMachine::driver()};
};

TESSERA_JOIN_DRIVER_CONTRACT(Trace, TraceMachine);

}  // namespace tessera::contract
