#include <gtest/gtest.h>

#include "residency_fixture.hpp"

namespace tessera {
namespace {

using DeviceRun = tessera::Run;  // a test has a Run() of its own

constexpr std::size_t kLayers = 12;

// Layers of 4 MiB on a device for eight of them: written forwards, read backwards.
class FollowTest : public ::testing::Test {
 protected:
  FollowTest() {
    for (std::size_t i = 0; i < kLayers; ++i) {
      const RunShape shape{0, 2};
      layers_.push_back(machine_.residency().add(machine_.reserve(shape), shape, TagId()).take());
      layers_.back()->live.store(1);
    }
  }
  void iterate(std::uint64_t generation) {
    for (DeviceRun* layer : layers_) step(layer, generation, Access::kWrite);
    for (std::size_t i = kLayers; i-- > 0;) step(layers_[i], generation, Access::kRead);
  }
  void step(DeviceRun* layer, std::uint64_t generation, Access access) {
    EXPECT_OK(access == Access::kWrite ? machine_.write(layer, generation)
                                       : machine_.check(layer, generation));
    EXPECT_OK(machine_.sim().synchronize(DeviceId(0)));
    machine_.residency().advance();
    ASSERT_EQ(machine_.valid(), "ok");
  }

  ResidencyMachine machine_{{.device = 32_MiB, .policy = "auto"}};
  std::vector<DeviceRun*> layers_;
};

TEST_F(FollowTest, EveryByteIsRightWhileAPlanIsFollowed) {
  for (std::uint64_t i = 1; i <= 8; ++i) iterate(i);
  EXPECT_GT(machine_.residency().stats().bytes_out, Bytes());
}

TEST_F(FollowTest, RunsMayGoAwayInTheMiddleOfAPlan) {
  for (std::uint64_t i = 1; i <= 5; ++i) iterate(i);
  for (std::size_t i = 0; i < 3; ++i) step(layers_[i], 6, Access::kWrite);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_OK(machine_.residency().remove(layers_.back()));
    layers_.pop_back();
  }
  for (DeviceRun* layer : layers_) step(layer, 7, Access::kWrite);
  for (DeviceRun* layer : layers_) step(layer, 7, Access::kRead);
}

TEST_F(FollowTest, APinnedRunStaysWhateverThePlanSays) {
  for (std::uint64_t i = 1; i <= 4; ++i) iterate(i);
  EXPECT_OK(machine_.residency().pin(layers_[0]));
  for (std::uint64_t i = 5; i <= 7; ++i) {
    iterate(i);
    EXPECT_EQ(machine_.residency().whereabouts(*layers_[0])[0], 4_MiB);
  }
  EXPECT_OK(machine_.residency().unpin(layers_[0]));
}

}  // namespace
}  // namespace tessera
