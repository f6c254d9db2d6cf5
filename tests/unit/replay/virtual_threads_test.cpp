#include "lab/replay/virtual_threads.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tessera {
namespace {

class VirtualThreadsTest : public ::testing::Test {
 protected:
  void run(const std::vector<std::function<void()>>& bodies) { ASSERT_TRUE(threads_.run(bodies).is_ok()); }
  void wait(std::uint64_t time) { clock_.run_until(clock_.now() + Nanoseconds(time)); }
  void note(const std::string& name) { seen_.push_back(name + std::to_string(clock_.now().value())); }

  VirtualClock clock_;
  VirtualThreads threads_{clock_};
  std::vector<std::string> seen_;  // one thread runs at a time, so this needs no lock
};

TEST_F(VirtualThreadsTest, EachThreadGoesOnAtItsOwnTime) {
  run({[&] {
         for (int i = 0; i < 3; ++i) {
           note("a");
           wait(10);
         }
       },
       [&] {
         for (int i = 0; i < 2; ++i) {
           note("b");
           wait(15);
         }
       }});
  EXPECT_EQ(seen_, (std::vector<std::string>{"a0", "b0", "a10", "b15", "a20"}));
  EXPECT_EQ(clock_.now(), Nanoseconds(30));
}

// The first has no action to wait for until the second has scheduled it.
TEST_F(VirtualThreadsTest, OthersGoOnBeforeTimeDoes) {
  bool over = false;
  run({[&] {
         while (!over && clock_.step()) continue;
         note("a");
       },
       [&] {
         clock_.schedule(Nanoseconds(7), [&] { over = true; });
         note("b");
       }});
  EXPECT_EQ(seen_, (std::vector<std::string>{"b0", "a7"}));
}

TEST_F(VirtualThreadsTest, AStepEndsTheWaitsOfAll) {
  for (const std::uint64_t at : {3U, 5U}) clock_.schedule(Nanoseconds(at), [this] { note("at"); });
  const auto steps = [&](const char* name) {
    return [&, name] {
      while (clock_.step()) note(name);
    };
  };
  run({steps("a"), steps("b")});
  EXPECT_EQ(seen_, (std::vector<std::string>{"at3", "a3", "b3", "at5", "a5", "b5"}));
}

TEST_F(VirtualThreadsTest, AWaitWithALimitEndsThere) {
  clock_.schedule(Nanoseconds(20), [] {});
  run({[&] {
         EXPECT_FALSE(clock_.step_within(Nanoseconds(10)));
         EXPECT_EQ(clock_.now(), Nanoseconds(0)) << "the caller advances it";
         EXPECT_TRUE(clock_.step_within(Nanoseconds(20)));
       },
       [&] { EXPECT_TRUE(clock_.step_within(Nanoseconds(30))); }});
  EXPECT_EQ(clock_.now(), Nanoseconds(20));
}

TEST_F(VirtualThreadsTest, WhereNothingIsLeftEveryWaitEnds) {
  int ended = 0;
  const auto waits = [&] {
    EXPECT_FALSE(clock_.step());
    ++ended;
  };
  run({waits, waits, waits});
  EXPECT_EQ(ended, 3);
}

TEST_F(VirtualThreadsTest, TheClockIsAsBeforeAtTheEnd) {
  run({[&] { wait(5); }});
  clock_.schedule(Nanoseconds(8), [] {});
  EXPECT_TRUE(clock_.step());
  EXPECT_EQ(clock_.now(), Nanoseconds(8));
  run({});
}

}  // namespace
}  // namespace tessera
