#include "residency/launch_notes.hpp"

#include <cstdint>
#include <optional>

#include "residency_fixture.hpp"

namespace tessera {
namespace {

// The tracker takes launches once memory is short, and reads them when the engine advances.
TEST(LaunchNotesTest, ALaunchIsLearnedAndOneOfACallbackIsNot) {
  for (const bool inside : {false, true}) {
    ResidencyMachine machine({.device = 8_MiB});
    const auto runs = machine.add_many(8);
    for (auto* run : runs) ASSERT_OK(machine.write(run, 1));
    const std::uint64_t before = machine.residency().spare_for_each_block().value();
    ASSERT_TRUE(machine.residency().is_short());
    {
      std::optional<InsideCallback> callback;
      if (inside) callback.emplace();
      ASSERT_OK(machine.touch({runs[0], runs[1], runs[2]}));
    }
    machine.residency().advance();
    ASSERT_OK(machine.residency().drain());
    const std::uint64_t after = machine.residency().spare_for_each_block().value();
    EXPECT_EQ(after < before, !inside) << "the largest launch so far leaves less to each block";
  }
}

}  // namespace
}  // namespace tessera
