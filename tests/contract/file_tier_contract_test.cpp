#include "tier/file_tier.hpp"
#include "tier_contract.hpp"

namespace tessera::contract {

struct FileTierMachine {
  static constexpr Bytes kCapacity = 128_MiB;
  static constexpr bool kValuesAreRanges = true;

  Tier& tier() { return *file.value(); }
  void finish() {}

  Result<std::unique_ptr<FileTier>> file = FileTier::open(::testing::TempDir(), kCapacity);
};

INSTANTIATE_TYPED_TEST_SUITE_P(FileTier, TierContract, FileTierMachine);

}  // namespace tessera::contract
