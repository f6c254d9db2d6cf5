// The residency snapshot in a planning request.
#include <algorithm>

#include "residency_fixture.hpp"

namespace tessera {
namespace {

using SnapshotRun = tessera::Run;  // a test has a member Run() of its own

// Keeps the request that it was given.
class Asked final : public Policy {
 public:
  explicit Asked(Iteration& seen) : seen_(seen) {}
  std::string_view name() const override { return "asked"; }
  Decision decide(const Snapshot& snapshot) const override { return rest_->decide(snapshot); }
  OffloadPlan plan(const Iteration& iteration, const Machine&) const override {
    seen_ = iteration;
    return {};
  }

 private:
  Iteration& seen_;
  std::unique_ptr<Policy> rest_ = make_policy("lru").take();
};

// Layers of 4 to 14 MiB are written in forward and read in reverse order on a device of 32 MiB. Another block is
// written before.
class ResidencySnapshotTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kLayers = 6;

  void iterate_on(Bytes host, bool with_pin = false) {
    ResidencyMachine machine({.device = 32_MiB, .host = host, .file = 256_MiB, .sim = {.memory = 48_MiB}});
    machine.residency().set_policy(std::make_unique<Asked>(seen_));
    SnapshotRun* const other = machine.add({0, 3});
    ASSERT_OK(machine.write(other, 1));
    if (with_pin) ASSERT_OK(machine.residency().pins().pin(other));
    std::vector<SnapshotRun*> layers;
    for (std::uint32_t i = 0; i < kLayers; ++i) layers.push_back(machine.add({0, i + 2}));
    for (int i = 0; i < 6; ++i) {
      for (SnapshotRun* layer : layers) step(machine, machine.write(layer, 1));
      for (std::size_t layer = kLayers; layer-- > 0;) step(machine, machine.check(layers[layer], 1));
    }
    ASSERT_EQ(seen_.steps.size(), 2 * kLayers);
  }
  void step(ResidencyMachine& machine, const Status& used) {
    EXPECT_OK(used);
    EXPECT_OK(machine.sim().synchronize(DeviceId(0)));
    machine.residency().advance();
  }

  Iteration seen_;
};

TEST_F(ResidencySnapshotTest, HasTheLocationOfEachPageOnceTheFileIsInUse) {
  iterate_on(16_MiB);
  ASSERT_TRUE(seen_.last_step);
  std::size_t pages = 0, on_device = 0, away = 0;
  for (const IterationRun& run : seen_.runs) {
    EXPECT_EQ(run.pages.size(), run.bytes / kBasePage);
    pages += run.pages.size();
    on_device += static_cast<std::size_t>(
        std::ranges::count_if(run.pages, [](Locations at) { return at.has(Location::kDevice); }));
    away += static_cast<std::size_t>(
        std::ranges::count_if(run.pages, [](Locations at) { return !at.empty() && !at.has(Location::kDevice); }));
  }
  EXPECT_LE(on_device, 16u);
  EXPECT_GT(away, 0u);
  EXPECT_EQ(on_device + away, pages);
}

TEST_F(ResidencySnapshotTest, IncludesRunsThatNoStepUses) {
  iterate_on(16_MiB);
  ASSERT_EQ(seen_.others.size(), 1u);
  EXPECT_EQ(seen_.others[0].bytes, 6_MiB);
  EXPECT_EQ(seen_.others[0].pages, std::vector<Locations>(3, Location::kFile));
}

TEST_F(ResidencySnapshotTest, OmitsUnusedPinnedRuns) {
  iterate_on(16_MiB, true);
  ASSERT_TRUE(seen_.last_step);
  EXPECT_TRUE(seen_.others.empty());
}

TEST_F(ResidencySnapshotTest, IsEmptyWhileTheHostHoldsAll) {
  iterate_on(128_MiB);
  EXPECT_FALSE(seen_.last_step);
  EXPECT_TRUE(seen_.others.empty());
}

}  // namespace
}  // namespace tessera
