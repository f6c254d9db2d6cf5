#include <optional>

#include "sim_machine.hpp"
#include "tier/host_tier.hpp"
#include "tier_contract.hpp"

namespace tessera::contract {

struct HostTierMachine {
  static constexpr Bytes kCapacity = 128_MiB;
  static constexpr bool kValuesAreRanges = true;

  Tier& tier() { return *host; }
  void finish() {
    host.reset();
    machine.finish();
  }

  SimMachine machine;
  std::optional<HostTier> host{std::in_place, machine.driver(), kCapacity, Bytes()};
};

INSTANTIATE_TYPED_TEST_SUITE_P(HostTier, TierContract, HostTierMachine);

}  // namespace tessera::contract
