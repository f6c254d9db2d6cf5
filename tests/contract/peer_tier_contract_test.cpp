#include <optional>

#include "sim_machine.hpp"
#include "tier/peer_tier.hpp"
#include "tier_contract.hpp"

namespace tessera::contract {

// The lenders have exactly as much memory as they lend.
struct PeerTierMachine {
  static constexpr Bytes kCapacity = 128_MiB;
  static constexpr bool kValuesAreRanges = true;

  Tier& tier() { return *peer; }
  void finish() {
    peer.reset();
    machine.finish();
  }

  SimMachine machine{SimOptions{.devices = 2, .memory = kCapacity}};
  std::optional<PeerTier> peer{std::in_place, machine.driver(), std::vector{Loan{DeviceId(1), kCapacity}}};
};

INSTANTIATE_TYPED_TEST_SUITE_P(PeerTier, TierContract, PeerTierMachine);

}  // namespace tessera::contract
