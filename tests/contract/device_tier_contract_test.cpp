#include <optional>

#include "sim_machine.hpp"
#include "tier/device_tier.hpp"
#include "tier_contract.hpp"

namespace tessera::contract {

// The device has exactly as much memory as the tier's budget.
struct DeviceTierMachine {
  static constexpr Bytes kCapacity = 128_MiB;
  static constexpr bool kValuesAreRanges = false;

  Tier& tier() { return *device; }
  void finish() {
    device.reset();
    machine.finish();
  }

  SimMachine machine{SimOptions{.memory = kCapacity}};
  std::optional<DeviceTier> device{std::in_place, machine.driver(), DeviceId(0), kCapacity};
};

INSTANTIATE_TYPED_TEST_SUITE_P(DeviceTier, TierContract, DeviceTierMachine);

}  // namespace tessera::contract
