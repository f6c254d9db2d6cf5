// The simulated device in virtual time passes the driver contract, with real bytes.
#include "base/virtual_clock.hpp"
#include "driver_contract.hpp"
#include "sim_machine.hpp"

namespace tessera::contract {

class VirtualMachine {
 public:
  static constexpr bool kFindsDestroyedHandles = true;

  SimDriver& driver() { return sim_; }
  const void* churn_kernel() { return tessera::churn_kernel(); }
  void finish() {
    for (const std::string& leak : sim_.leaks()) ADD_FAILURE() << "leaked " << leak;
  }

 private:
  VirtualClock clock_;
  SimDriver sim_{{.memory = 64_MiB,
                  .inbound = {25'000'000'000, Nanoseconds(10'000)},
                  .outbound = {25'000'000'000, Nanoseconds(10'000)},
                  .kernel_time = Nanoseconds(5'000),
                  .fingerprints = {3'000'000'000'000, Nanoseconds(2'000)}},
                 clock_};
};

TESSERA_JOIN_DRIVER_CONTRACT(Virtual, VirtualMachine);

}  // namespace tessera::contract
