#include "residency_fixture.hpp"

namespace tessera {
namespace {

Bytes in_host(ResidencyMachine& machine) { return machine.tiers().host.usage().used; }

// Four runs on the device, and four in host memory that were written last there.
std::vector<Run*> evicted_runs(ResidencyMachine& machine, StreamId stream) {
  const auto runs = machine.add_many(8);
  for (std::size_t i = 0; i < runs.size(); ++i) EXPECT_OK(machine.write(runs[i], i, stream));
  EXPECT_OK(machine.settle());
  return runs;
}

TEST(Shed, SpillsToTheFileWhatIsInHostMemoryAlone) {
  ResidencyMachine machine({.device = 8_MiB, .host = 64_MiB, .file = 64_MiB});
  const StreamId stream = machine.stream();
  const auto runs = evicted_runs(machine, stream);
  const Bytes before = in_host(machine);
  ASSERT_GE(before, 8_MiB);
  const auto shed = machine.residency().yields().shed_host(4_MiB);
  ASSERT_TRUE(shed.is_ok()) << shed.status().to_string();
  EXPECT_GE(shed.value(), 4_MiB);
  EXPECT_OK(machine.residency().drain());
  EXPECT_LE(in_host(machine), before - 4_MiB);
  for (std::size_t i = 0; i < runs.size(); ++i) EXPECT_OK(machine.check(runs[i], i, stream));
}

TEST(Shed, WithoutAFileWhatIsInHostMemoryAloneStays) {
  ResidencyMachine machine({.device = 8_MiB, .host = 64_MiB});
  const StreamId stream = machine.stream();
  const auto runs = evicted_runs(machine, stream);
  EXPECT_OK(machine.residency().yields().shed_host(64_MiB).status());
  EXPECT_OK(machine.residency().drain());
  EXPECT_GE(in_host(machine), 8_MiB);
  for (std::size_t i = 0; i < runs.size(); ++i) EXPECT_OK(machine.check(runs[i], i, stream));
}

TEST(Shed, DropsCopiesOfPagesThatAreOnTheDevice) {
  ResidencyMachine machine({.device = 8_MiB, .host = 64_MiB});
  const StreamId stream = machine.stream();
  const auto runs = machine.add_many(2);
  for (std::size_t i = 0; i < runs.size(); ++i) EXPECT_OK(machine.write(runs[i], i, stream));
  EXPECT_OK(machine.settle());
  EXPECT_OK(machine.residency().evict(runs));
  EXPECT_OK(machine.residency().drain());
  for (std::size_t i = 0; i < runs.size(); ++i) EXPECT_OK(machine.check(runs[i], i, stream));  // fetches them
  EXPECT_OK(machine.settle());
  ASSERT_EQ(in_host(machine), 4_MiB) << "the copies are kept";
  EXPECT_EQ(machine.residency().yields().shed_host(2_MiB).take(), 2_MiB);
  EXPECT_EQ(in_host(machine), 2_MiB);
  for (std::size_t i = 0; i < runs.size(); ++i) EXPECT_OK(machine.check(runs[i], i, stream));
}

}  // namespace
}  // namespace tessera
