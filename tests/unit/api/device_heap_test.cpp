#include "api/device_heap.hpp"

#include <gtest/gtest.h>

#include "sim/sim_driver.hpp"

namespace tessera {
namespace {

class DeviceHeapTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<DeviceHeap>> make(const Options& options) {
    return DeviceHeap::create(sim_, DeviceId(), {host_, *file_}, log_, options, PlanSimulator::Answer::kWhenReady, {});
  }

  SteadyClock clock_;
  SimDriver sim_{{.memory = 64_MiB}, clock_};
  HostTier host_{sim_, 64_MiB, 64_MiB};
  std::unique_ptr<FileTier> file_ = FileTier::open("", Bytes(0)).take();
  EventLog log_{clock_, 16};
};

TEST_F(DeviceHeapTest, TakesTheBudgetThatTheOptionsName) {
  Options options;
  options.device_memory = 32_MiB;
  auto heap = make(options);
  ASSERT_TRUE(heap.is_ok()) << heap.status().to_string();
  EXPECT_EQ(heap.value()->tier().usage().capacity, 32_MiB);
  EXPECT_EQ(heap.value()->total_memory(), 64_MiB);
  EXPECT_TRUE(heap.value()->validate().is_ok());
}

TEST_F(DeviceHeapTest, HasMoreAddressesThanBytes) {
  Options options;
  options.device_memory = 32_MiB;
  auto heap = make(options);
  ASSERT_TRUE(heap.is_ok());
  PageManager& pages = heap.value()->pages();
  EXPECT_GE(pages.high() - pages.low(), 96_MiB);
  EXPECT_TRUE(heap.value()->holds(pages.low()));
  EXPECT_FALSE(heap.value()->holds(pages.high()));
}

// Each stream has its own window, and a heap of this size would only have nine.
TEST_F(DeviceHeapTest, HasAddressesForManyStreamsHoweverSmall) {
  Options options;
  options.device_memory = 8_MiB;
  auto heap = make(options);
  ASSERT_TRUE(heap.is_ok());
  for (std::uint64_t stream = 0; stream < 30; ++stream) {
    const auto run = heap.value()->pages().acquire(kBasePage, {0, StreamId(stream), TagId()}, {});
    EXPECT_TRUE(run.is_ok()) << run.status().to_string();
  }
}

TEST_F(DeviceHeapTest, HostMemoryIsToLieNearTheDevice) {
  class NotedPages final : public HostPages {
   public:
    void place(void*, Bytes, unsigned on) override { node = on; }
    bool open(void*, Bytes) override { return true; }
    void close(void*, Bytes) override {}
    std::optional<unsigned> node;
  } pages;
  SimDriver sim({.memory = 64_MiB, .host_node = 3}, clock_);
  HostTier host(sim, 64_MiB, 64_MiB, pages);
  const auto heap =
      DeviceHeap::create(sim, DeviceId(), {host, *file_}, log_, Options(), PlanSimulator::Answer::kWhenReady, {});
  ASSERT_TRUE(heap.is_ok()) << heap.status().to_string();
  host.give_back(host.take(PageClass::kBase).value());
  EXPECT_EQ(pages.node, 3u);
}

TEST_F(DeviceHeapTest, RefusesAPolicyThatIsNotThere) {
  Options options;
  options.policy = "wishful";
  EXPECT_EQ(make(options).status().code(), Code::kInvalidArgument);
}

TEST_F(DeviceHeapTest, ReleasesEverything) {
  {
    auto heap = make(Options());
    ASSERT_TRUE(heap.is_ok());
    ASSERT_TRUE(heap.value()->blocks().allocate(8_MiB, StreamId(), TagId()).is_ok());
  }
  EXPECT_EQ(sim_.memory_info(DeviceId()).value().free, 64_MiB);
}

}  // namespace
}  // namespace tessera
