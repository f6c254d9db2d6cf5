#include "tier/host_grower.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "no_threads.hpp"
#include "sim_machine.hpp"
#include "tier/host_arena.hpp"

namespace tessera {
namespace {

class HostGrowerTest : public testing::Test {
 protected:
  void TearDown() override { machine_.finish(); }

  SimMachine machine_;
};

TEST_F(HostGrowerTest, GrowsAheadUntilNothingIsDue) {
  std::atomic<int> due{3};
  HostGrower grower([&due] {
    const int left = due.fetch_sub(1);
    due.notify_all();
    return left > 1;
  });
  grower.kick();
  for (int seen = due.load(); seen > 0; seen = due.load()) due.wait(seen);
  EXPECT_EQ(due.load(), 0);
}

TEST_F(HostGrowerTest, APieceInProgressCanBeWaitedFor) {
  std::atomic<bool> begun{false}, over{false}, released{false};
  std::optional<HostGrower> grower;
  grower.emplace([&] {
    begun.store(true);
    begun.notify_all();
    while (grower->waiting() == 0 && !released.load()) std::this_thread::yield();
    over.store(true);
    return false;
  });
  grower->kick();
  begun.wait(false);
  grower->finish_piece();
  EXPECT_TRUE(over.load());
  released.store(true);
  grower.reset();
}

TEST_F(HostGrowerTest, TheThreadServesARequest) {
  HostArena arena(machine_.driver(), 64_MiB, 32_MiB);
  HostGrower grower([] { return false; });
  EXPECT_TRUE(grower.grow([&] { return arena.grow(4_MiB, 0); }));
  EXPECT_EQ(arena.backed(), 32_MiB);
  EXPECT_TRUE(grower.grow([&] { return arena.grow(4_MiB, 0); })) << "it has grown since: try again with what is there";
  EXPECT_EQ(arena.backed(), 32_MiB);
  EXPECT_FALSE(grower.grow([&] { return arena.grow(64_MiB, 1); })) << "more than the bound";
}

// Reports when it opens memory.
class ReportedPages final : public HostPages {
 public:
  explicit ReportedPages(std::function<void()> opens) : opens_(std::move(opens)) {}
  bool open(void* start, Bytes bytes) override {
    opens_();
    return system_host_pages().open(start, bytes);
  }
  void close(void* start, Bytes bytes) override { system_host_pages().close(start, bytes); }

 private:
  const std::function<void()> opens_;
};

// The thread is pinning a piece ahead of need when a request arrives, which is served before the next piece.
TEST_F(HostGrowerTest, ServesARequestBeforeGrowingAhead) {
  std::atomic<int> opened{0}, pieces{0}, opened_at_second{-1};
  std::atomic<bool> in_first{false}, may_go_on{false};
  ReportedPages pages([&opened] { ++opened; });
  HostArena arena(machine_.driver(), 64_MiB, 32_MiB, pages);
  std::optional<HostGrower> grower(std::in_place, [&] {
    if (++pieces == 2) opened_at_second = opened.load();
    if (pieces > 1) return false;
    in_first = true;
    in_first.notify_all();
    may_go_on.wait(false);
    return true;
  });
  grower->kick();
  in_first.wait(false);
  std::thread asking([&] { EXPECT_TRUE(grower->grow([&] { return arena.grow(4_MiB, 0); })); });
  while (grower->waiting() == 0) std::this_thread::yield();
  may_go_on = true;
  may_go_on.notify_all();
  asking.join();
  grower->kick();
  for (int seen = pieces.load(); seen < 2; seen = pieces.load()) std::this_thread::yield();
  grower.reset();
  EXPECT_EQ(opened_at_second.load(), 1);
}

TEST_F(HostGrowerTest, WithoutAThreadTheCallerPinsMemory) {
  HostArena arena(machine_.driver(), 64_MiB, 32_MiB);
  std::optional<NoThreads> none(std::in_place);
  HostGrower grower([] { return true; });
  none.reset();
  grower.kick();
  EXPECT_TRUE(grower.grow([&] { return arena.grow(4_MiB, 0); }));
  EXPECT_EQ(arena.backed(), 32_MiB);
}

}  // namespace
}  // namespace tessera
