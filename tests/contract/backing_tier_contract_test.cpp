#include <optional>

#include "sim_machine.hpp"
#include "tier/backing_tier.hpp"
#include "tier_contract.hpp"

namespace tessera::contract {

// The machine has exactly as many host frames as the tier's budget.
struct BackingTierMachine {
  static constexpr Bytes kCapacity = 128_MiB;
  static constexpr bool kValuesAreRanges = true;

  Tier& tier() { return *backing; }
  void finish() {
    backing.reset();
    machine.finish();
  }

  SimMachine machine{SimOptions{.memory = 2_MiB, .host_memory = kCapacity}};
  std::optional<BackingTier> backing{std::in_place, machine.driver(), DeviceId(0), kCapacity};
};

INSTANTIATE_TYPED_TEST_SUITE_P(BackingTier, TierContract, BackingTierMachine);

}  // namespace tessera::contract
