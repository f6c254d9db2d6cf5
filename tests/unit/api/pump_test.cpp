#include "api/pump.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>

#include "no_threads.hpp"

namespace tessera {
namespace {

TEST(Pump, PollsUntilNothingIsInFlight) {
  std::atomic<int> left{5};
  Pump pump([&] {
    const bool more = left.fetch_sub(1) > 1;
    left.notify_all();
    return more;
  });
  pump.kick();
  for (int seen = left.load(); seen > 0; seen = left.load()) left.wait(seen);
  EXPECT_LE(left.load(), 0);
}

TEST(Pump, MissesNoKickDuringItsLastPoll) {
  std::atomic<int> work{0}, done{0};
  Pump pump([&] {
    const int taken = work.exchange(0);
    done.fetch_add(taken);
    done.notify_all();
    return false;
  });
  for (int i = 1; i <= 2000; ++i) {
    work.fetch_add(1);
    pump.kick();
  }
  for (int seen = done.load(); seen < 2000; seen = done.load()) done.wait(seen);
  EXPECT_EQ(done.load(), 2000);
}

TEST(Pump, PollsWithoutKicks) {
  std::atomic<int> looks{0};
  Pump pump([] { return false; },
            [&] {
              looks.fetch_add(1);
              looks.notify_all();
              return std::chrono::milliseconds(5);
            });
  for (int seen = looks.load(); seen < 2; seen = looks.load()) looks.wait(seen);
  EXPECT_GE(looks.load(), 2);
}

TEST(Pump, StopsWithWorkInFlight) {
  Pump pump([] { return true; });
  pump.kick();
}

TEST(Pump, DoesNotPollWithoutAThread) {
  std::atomic<int> looks{0};
  std::optional<NoThreads> none(std::in_place);
  auto pump = std::make_unique<Pump>([&] { return looks.fetch_add(1) < 0; });
  none.reset();
  for (int i = 0; i < 3; ++i) pump->kick();
  pump.reset();
  EXPECT_EQ(looks.load(), 0);
}

}  // namespace
}  // namespace tessera
