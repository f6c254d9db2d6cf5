// The simulated device passes the driver contract.
#include "driver_contract.hpp"
#include "sim_machine.hpp"

namespace tessera::contract {

TESSERA_JOIN_DRIVER_CONTRACT(Sim, SimMachine);

}  // namespace tessera::contract
