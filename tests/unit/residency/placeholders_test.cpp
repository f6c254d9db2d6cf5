// Placeholders behind the engine's lock.
#include "residency/placeholders.hpp"

#include "residency_fixture.hpp"

namespace tessera {
namespace {

class PlaceholdersTest : public testing::Test {
 protected:
  // Twice as many runs as the device has room for: the first are away.
  void SetUp() override {
    runs_ = machine_.add_many(8);
    for (std::uint64_t i = 0; i < runs_.size(); ++i) ASSERT_OK(machine_.write(runs_[i], i));
    ASSERT_NE(runs_[0]->missing.load(), 0U);
  }
  Placeholders& placeholders() { return machine_.residency().placeholders(); }
  bool is_found(const tessera::Run& run) {
    const bool found = machine_.sim().fill(run.address, 0, 4_B, StreamId(0)).is_ok();
    EXPECT_OK(machine_.sim().synchronize(DeviceId(0)));
    return found;
  }

  ResidencyMachine machine_{{.device = 8_MiB, .host = 32_MiB, .sim = {.memory = 16_MiB}}};
  std::vector<tessera::Run*> runs_;
};

TEST_F(PlaceholdersTest, StayUntilTheLastEnd) {
  placeholders().begin();
  EXPECT_OK(placeholders().cover(runs_[0]));
  placeholders().begin();
  EXPECT_OK(placeholders().cover(runs_[1]));
  placeholders().end();
  EXPECT_TRUE(is_found(*runs_[0]));
  EXPECT_TRUE(is_found(*runs_[1]));
  placeholders().end();
  placeholders().end();
  EXPECT_FALSE(is_found(*runs_[0]));
  EXPECT_FALSE(is_found(*runs_[1]));
  EXPECT_OK(machine_.check(runs_[0], 0));
}

TEST_F(PlaceholdersTest, AUseMeanwhileFindsItsBytes) {
  placeholders().begin();
  for (tessera::Run* const run : runs_) EXPECT_OK(placeholders().cover(run));
  for (std::uint64_t i = 0; i < runs_.size(); ++i) EXPECT_OK(machine_.check(runs_[i], i));
  placeholders().end();
}

TEST_F(PlaceholdersTest, AreMappedOnADeviceThatIsFull) {
  ResidencyMachine machine({.device = 8_MiB, .host = 32_MiB, .sim = {.memory = 8_MiB}});
  const std::vector<tessera::Run*> runs = machine.add_many(8);
  for (std::uint64_t i = 0; i < runs.size(); ++i) ASSERT_OK(machine.write(runs[i], i));
  Placeholders& full = machine.residency().placeholders();
  full.begin();
  EXPECT_EQ(full.cover(runs[0]).code(), Code::kOutOfMemory);
  EXPECT_OK(full.make_room());
  EXPECT_OK(full.cover(runs[0]));
  EXPECT_OK(full.make_room());
  full.end();
  EXPECT_EQ(machine.tiers().device.usage().capacity, 8_MiB) << "the room is given back";
  for (std::uint64_t i = 0; i < runs.size(); ++i) ASSERT_OK(machine.check(runs[i], i));
}

TEST_F(PlaceholdersTest, ABlockMayBeFreedMeanwhile) {
  placeholders().begin();
  EXPECT_OK(placeholders().cover(runs_[0]));
  EXPECT_OK(machine_.residency().runs().remove(runs_[0]));
  placeholders().end();
  EXPECT_OK(machine_.check(runs_[1], 1));
}

}  // namespace
}  // namespace tessera
