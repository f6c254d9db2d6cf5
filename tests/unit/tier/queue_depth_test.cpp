#include "tier/queue_depth.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace tessera {
namespace {

using Speed = std::function<std::uint64_t(unsigned depth)>;

// A disk with a given throughput at each depth, and a queue that is always full: all requests in flight share its
// speed.
class Disk {
 public:
  explicit Disk(Speed speed) : speed_(std::move(speed)) {}

  void move(QueueDepth& depth, Bytes bytes) {
    for (; bytes; bytes -= 1_MiB) {
      tried_.insert(depth.depth());
      depth.ended(1_MiB, Nanoseconds((1_MiB).value() * 1'000'000'000 / speed_(depth.depth()) * depth.depth()), true);
    }
  }
  const std::set<unsigned>& tried() const { return tried_; }

 private:
  const Speed speed_;
  std::set<unsigned> tried_;
};

// Completes everything in its queue, and then reports it at once; requests queued meanwhile wait.
class DiskInBursts {
 public:
  explicit DiskInBursts(std::uint64_t speed) : speed_(speed) {}

  void move(QueueDepth& depth, Bytes bytes) {
    while (bytes) {
      // The queue is refilled after each completion, so it is full at every end.
      const unsigned burst = depth.depth();
      const Nanoseconds took((1_MiB).value() * 1'000'000'000 / speed_ * burst);
      for (unsigned i = 0; i < burst && bytes && depth.depth() == burst; ++i, bytes -= 1_MiB)
        depth.ended(1_MiB, took, true);
    }
  }

 private:
  const std::uint64_t speed_;
};

TEST(QueueDepthTest, BatchedCompletionsDoNotInflateTheSpeed) {
  QueueDepth depth;
  DiskInBursts disk(2'000'000'000);
  disk.move(depth, 1_GiB);
  EXPECT_TRUE(depth.is_settled());
  EXPECT_NEAR(static_cast<double>(depth.speed()), 2e9, 1e8);
  EXPECT_EQ(depth.depth(), QueueDepth::kDepths.front());
}

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

TEST(QueueDepthTest, OneSlowMeasurementDecidesNothing) {
  QueueDepth depth;
  int calls = 0;
  Disk disk([&calls](unsigned at) -> std::uint64_t {
    const bool hiccup = ++calls < 40;  // the whole first measurement
    return hiccup ? 1'000'000 : at == 32 ? 2'000'000'000 : 1'000'000'000;
  });
  disk.move(depth, 1_GiB);
  EXPECT_EQ(depth.depth(), 32u);
}

TEST(QueueDepthTest, IgnoresAQueueThatIsNotFull) {
  QueueDepth depth;
  const unsigned first = depth.depth();
  for (int i = 0; i < 4096; ++i) depth.ended(1_MiB, Nanoseconds(1000), false);
  EXPECT_FALSE(depth.is_settled());
  EXPECT_EQ(depth.depth(), first);
  EXPECT_EQ(depth.speed(), 0u);
}

TEST(QueueDepthTest, IgnoresRequestsQueuedAtAnotherDepth) {
  QueueDepth depth;
  for (unsigned before = 0; !depth.is_settled();) {
    const unsigned now = depth.depth();
    // The requests in flight when the depth changes took as long as those before them.
    for (unsigned i = 0; i < now; ++i) depth.ended(1_MiB, Nanoseconds(1'000'000) * before, true);
    while (!depth.is_settled() && depth.depth() == now) depth.ended(1_MiB, Nanoseconds(1'000'000) * now, true);
    before = now;
  }
  EXPECT_EQ(depth.depth(), QueueDepth::kDepths.front()) << "each is as fast as the others";
  EXPECT_NEAR(static_cast<double>(depth.speed()), 1.048576e9, 1e7);
}

TEST(QueueDepthTest, AnIdleGapRestartsTheMeasurement) {
  QueueDepth depth;
  Disk disk([](unsigned) { return 1'000'000'000; });
  const unsigned first = depth.depth();
  for (int i = 0; i < 20; ++i) {
    disk.move(depth, QueueDepth::kMeasured / 2 + 1_MiB * first);
    depth.ended(4_KiB, Nanoseconds(1000), false);
  }
  EXPECT_EQ(depth.depth(), first);
}

TEST(QueueDepthTest, AFixedDepthIsKeptAndMeasured) {
  QueueDepth depth(8);
  Disk disk([](unsigned) { return std::uint64_t{2'000'000'000}; });
  disk.move(depth, 1_GiB);
  EXPECT_EQ(disk.tried(), std::set<unsigned>{8});
  EXPECT_TRUE(depth.is_settled());
  EXPECT_NEAR(static_cast<double>(depth.speed()), 2e9, 1e8);
}

}  // namespace
}  // namespace tessera
