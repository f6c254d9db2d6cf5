// A fault driver without faults behaves like any other driver.
#include "driver_contract.hpp"
#include "sim/fault_driver.hpp"
#include "sim_machine.hpp"

namespace tessera::contract {

struct FaultMachine : SimMachine {
  FaultDriver& driver() { return fault; }
  FaultDriver fault{SimMachine::driver()};
};

TESSERA_JOIN_DRIVER_CONTRACT(Fault, FaultMachine);

}  // namespace tessera::contract
