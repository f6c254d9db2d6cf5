#include "tier/queue_depth.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace tessera {
namespace {

using Speed = std::function<std::uint64_t(unsigned depth)>;

// A disk with so many bytes per second at each depth, with a queue that is always full.
class Disk {
 public:
  explicit Disk(Speed speed) : speed_(std::move(speed)) {}

  void move(QueueDepth& depth, Bytes bytes) {
    for (; bytes; bytes -= 1_MiB) {
      tried_.insert(depth.depth());
      now_ += Nanoseconds((1_MiB).value() * 1'000'000'000 / speed_(depth.depth()));
      depth.ended(1_MiB, now_, true);
    }
  }
  const std::set<unsigned>& tried() const { return tried_; }
  Nanoseconds now() const { return now_; }

 private:
  const Speed speed_;
  Nanoseconds now_;
  std::set<unsigned> tried_;
};

TEST(QueueDepthTest, TheSmallestDepthThatIsNearlyTheFastestStays) {
  QueueDepth depth;
  Disk disk([](unsigned at) { return at >= 16 ? 2'000'000'000 : 1'000'000'000; });
  disk.move(depth, 1_GiB);
  EXPECT_TRUE(depth.is_settled());
  EXPECT_EQ(depth.depth(), 16u);
  EXPECT_NEAR(static_cast<double>(depth.speed()), 2e9, 2e7);
  EXPECT_EQ(disk.tried(), (std::set<unsigned>{8, 16, 32, 64}));
}

TEST(QueueDepthTest, ADiskThatGainsFromEveryRequestGetsThemAll) {
  QueueDepth depth;
  Disk disk([](unsigned at) { return std::uint64_t{at} * 50'000'000; });
  disk.move(depth, 1_GiB);
  EXPECT_EQ(depth.depth(), QueueDepth::kMost);
}

TEST(QueueDepthTest, OneSlowStretchDecidesNothing) {
  QueueDepth depth;
  int calls = 0;
  Disk disk([&calls](unsigned at) -> std::uint64_t {
    const bool hiccup = ++calls < 40;  // all of the first stretch
    return hiccup ? 1'000'000 : at == 32 ? 2'000'000'000 : 1'000'000'000;
  });
  disk.move(depth, 1_GiB);
  EXPECT_EQ(depth.depth(), 32u);
}

TEST(QueueDepthTest, AQueueThatIsNotFullTellsNothing) {
  QueueDepth depth;
  const unsigned first = depth.depth();
  Nanoseconds now;
  for (int i = 0; i < 4096; ++i) depth.ended(1_MiB, now += Nanoseconds(1000), false);
  EXPECT_FALSE(depth.is_settled());
  EXPECT_EQ(depth.depth(), first);
  EXPECT_EQ(depth.speed(), 0u);
}

TEST(QueueDepthTest, AGapBeginsTheStretchAgain) {
  QueueDepth depth;
  Disk disk([](unsigned) { return 1'000'000'000; });
  const unsigned first = depth.depth();
  for (int i = 0; i < 20; ++i) {
    disk.move(depth, QueueDepth::kSettling + QueueDepth::kMeasured / 2);
    depth.ended(4_KiB, disk.now(), false);
  }
  EXPECT_EQ(depth.depth(), first);
}

}  // namespace
}  // namespace tessera
