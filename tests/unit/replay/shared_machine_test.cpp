#include "lab/replay/shared_machine.hpp"

#include <gtest/gtest.h>

#include "api/budgets.hpp"

namespace tessera {
namespace {

// DeviceShare leaves the reserve to the driver, so that this much is left for the programs.
TEST(SharedMachine, HasWhatIsUsableBesideTheReserve) {
  for (const Bytes usable : {64_MiB, 5_GiB, 80_GiB}) {
    const SharedMachine machine(usable);
    EXPECT_GE(machine.memory - context_reserve(machine.memory), usable);
    EXPECT_LE(machine.memory - context_reserve(machine.memory), usable + 2_MiB);
  }
}

}  // namespace
}  // namespace tessera
