// The simulated device joins the driver contract.
#include "driver_contract.hpp"
#include "sim_machine.hpp"

namespace tessera::contract {

INSTANTIATE_TYPED_TEST_SUITE_P(Sim, DriverContract, SimMachine);

}  // namespace tessera::contract
