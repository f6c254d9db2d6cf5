#include "residency/streams/gate.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace tessera {
namespace {

TEST(Gate, SeveralThreadsEnterAtOnce) {
  Gate gate;
  const std::uint32_t mine = gate.enter();
  std::thread([&gate] { gate.leave(gate.enter()); }).join();
  gate.leave(mine);
}

TEST(Gate, ReopensAfterClosing) {
  Gate gate;
  for (int i = 0; i < 3; ++i) {
    { const Gate::Closed closed(gate); }
    gate.leave(gate.enter());
  }
}

TEST(Gate, ClosingWaitsForThreadsInside) {
  Gate gate;
  std::atomic<bool> left{false};
  const std::uint32_t slot = gate.enter();
  std::atomic<bool> seen{false};
  std::thread closer([&] {
    const Gate::Closed closed(gate);
    seen.store(left.load());
  });
  left.store(true);
  gate.leave(slot);
  closer.join();
  EXPECT_TRUE(seen.load());
}

TEST(Gate, NoThreadIsInsideWhileClosed) {
  constexpr int kThreads = 4, kRounds = 3000, kClosings = 300;
  Gate gate;
  std::atomic<int> inside{0};
  std::uint64_t guarded = 0;  // guarded only by the gate: a race detector checks it too
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        const std::uint32_t slot = gate.enter();
        inside.fetch_add(1, std::memory_order_relaxed);
        EXPECT_LE(guarded, static_cast<std::uint64_t>(kClosings));
        inside.fetch_sub(1, std::memory_order_relaxed);
        gate.leave(slot);
      }
    });
  }
  for (int i = 0; i < kClosings; ++i) {
    const Gate::Closed closed(gate);
    EXPECT_EQ(inside.load(std::memory_order_relaxed), 0);
    ++guarded;
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Gate, MoreThreadsThanSlotsShareThem) {
  Gate gate;
  std::vector<std::thread> threads;
  for (int i = 0; i < 100; ++i) threads.emplace_back([&gate] { gate.leave(gate.enter()); });
  { const Gate::Closed closed(gate); }
  for (std::thread& thread : threads) thread.join();
}

TEST(Gate, StaysOpenWhenAThreadDoesNotLeaveInTime) {
  Gate gate(Nanoseconds(1'000'000));
  std::uint32_t slot = 0;
  std::thread([&] { slot = gate.enter(); }).join();
  EXPECT_FALSE(gate.saw_all_out());
  EXPECT_TRUE(gate.saw_all_out(slot)) << "but for that one";
  {
    const Gate::Closed closed(gate);
    EXPECT_FALSE(closed.is_closed());
    EXPECT_EQ(closed.status().code(), Code::kNotReady);
    gate.leave(gate.enter());  // and lets others in
  }
  gate.leave(slot);
  EXPECT_TRUE(gate.saw_all_out());
  const Gate::Closed closed(gate);
  EXPECT_TRUE(closed.is_closed());
  EXPECT_TRUE(closed.status().is_ok());
}

}  // namespace
}  // namespace tessera
