#include "node/node_budget.hpp"

#include <sys/wait.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "hand_clock.hpp"
#include "ledger_fixture.hpp"

namespace tessera {
namespace {

constexpr Nanoseconds kAtOnce{};
// Waits end when what they wait for happens; this only bounds a test that fails.
constexpr Nanoseconds kLong{60'000'000'000};

// The budget of all programs is 1000 bytes.
class NodeBudgetTest : public LedgerTest {
 protected:
  struct Program {
    std::unique_ptr<Ledger> ledger;
    std::unique_ptr<NodeBudget> budget;
    NodeBudget* operator->() const { return budget.get(); }
  };
  Program program(std::uint32_t weight = 1, Nanoseconds patience = kAtOnce, Bytes piece = Bytes(10)) {
    Program made{join(weight), nullptr};
    made.budget = std::make_unique<NodeBudget>(*made.ledger, NodeResource::kHostMemory, clock_,
                                               NodeBudget::Limits{piece, Bytes(1000), patience});
    return made;
  }
  Bytes in_books() {
    Bytes sum;
    for (const LedgerRow& row : rows()) sum += Bytes(row.of(NodeResource::kHostMemory).held);
    return sum;
  }
  // Takes as much as it gets.
  static Bytes take_all(const Program& program, Bytes step = Bytes(10)) {
    Bytes taken;
    while (program->take(step)) taken += step;
    return taken;
  }
  // What a program's pump does: gives back what others are entitled to.
  static void look(const Program& program) { program->give(program->look()); }
};

TEST_F(NodeBudgetTest, ALoneProgramGetsAllAndNoMore) {
  const Program one = program();
  EXPECT_EQ(take_all(one), Bytes(1000));
  EXPECT_TRUE(one->is_refused());
  EXPECT_EQ(one->look(), Bytes());
  one->give(Bytes(500));
  EXPECT_TRUE(one->take(Bytes(500)));
  EXPECT_FALSE(one->is_refused());
  one->give(Bytes(1000));
}

TEST_F(NodeBudgetTest, GrantsAreTakenInPieces) {
  const Program one = program(1, kAtOnce, Bytes(100));
  EXPECT_TRUE(one->take(Bytes(30)));
  EXPECT_EQ(one->granted(), Bytes(100));
  EXPECT_EQ(in_books(), Bytes(100));
  EXPECT_TRUE(one->take(Bytes(70)));
  EXPECT_EQ(one->granted(), Bytes(100));
  EXPECT_TRUE(one->take(Bytes(1)));
  EXPECT_EQ(one->granted(), Bytes(200));
  one->give(Bytes(101));
  EXPECT_EQ(one->granted(), Bytes());
  EXPECT_EQ(in_books(), Bytes());
}

TEST_F(NodeBudgetTest, NothingIsWrittenBeforeTheFirstUse) {
  const Program one = program();
  EXPECT_EQ(one->look(), Bytes());
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(NodeBudgetTest, ALatecomerIsEntitledToItsShare) {
  const Program one = program(), late = program();
  take_all(one);
  EXPECT_FALSE(late->take(Bytes(10))) << "nothing is free yet";
  EXPECT_NE(one->look(), Bytes());
  for (int i = 0; i < 100; ++i) {
    look(one);
    take_all(late);
  }
  EXPECT_EQ(one->used(), Bytes(500));
  EXPECT_EQ(late->used(), Bytes(500));
  EXPECT_FALSE(one->take(Bytes(10)));
  EXPECT_EQ(in_books(), Bytes(1000));
  one->give(one->used());
  late->give(late->used());
}

TEST_F(NodeBudgetTest, SharesFollowWeights) {
  const Program light = program(1), heavy = program(3);
  take_all(light);
  for (int i = 0; i < 100; ++i) {
    look(light);
    take_all(heavy);
  }
  EXPECT_EQ(heavy->used(), Bytes(750));
  EXPECT_EQ(light->used(), Bytes(250));
  light->give(light->used());
  heavy->give(heavy->used());
}

TEST_F(NodeBudgetTest, WhatALatecomerReturnsIsLentAgain) {
  const Program one = program(), late = program();
  take_all(one);
  for (int i = 0; i < 100; ++i) {
    look(one);
    take_all(late);
  }
  late->give(late->used());
  // Its wish for more is forgotten after a while.
  while (one->used() < Bytes(1000)) {
    (void)late->look();
    take_all(one);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  one->give(one->used());
}

TEST_F(NodeBudgetTest, TakingWaitsForOthersToGiveBack) {
  const Program one = program(), late = program(1, kLong);
  take_all(one);
  std::thread waits([&] { EXPECT_TRUE(late->take(Bytes(300))); });
  while (late->used() < Bytes(300)) look(one);
  waits.join();
  EXPECT_LE(in_books(), Bytes(1000));
  EXPECT_LE(one->used(), Bytes(700));
  late->give(Bytes(300));
  one->give(one->used());
}

// If the last call waited, it would wait for ever: time stands still.
TEST_F(NodeBudgetTest, AfterAWaitInVainNoCallWaitsForAWhile) {
  HandClock clock(1);
  const auto ledger = join();
  NodeBudget late(*ledger, NodeResource::kHostMemory, clock, {Bytes(10), Bytes(1000)});
  const Program one = program();
  take_all(one);  // and uses it, so that it gives nothing back
  std::atomic<bool> over{false};
  std::thread waits([&] {
    EXPECT_FALSE(late.take(Bytes(10)));
    over = true;
  });
  for (std::uint64_t now = 1; !over; now += NodeBudget::kPatience.value() / 8) {
    clock.set(now);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  waits.join();
  EXPECT_FALSE(late.take(Bytes(10)));
  one->give(one->used());
  EXPECT_TRUE(late.take(Bytes(10)));
  late.give(Bytes(10));
}

TEST_F(NodeBudgetTest, MoreThanTheShareIsRefusedWithoutWaiting) {
  const Program one = program(), other = program(1, kLong);
  EXPECT_TRUE(one->take(Bytes(500)));
  EXPECT_FALSE(other->take(Bytes(600)));
  EXPECT_TRUE(other->take(Bytes(500)));
  one->give(Bytes(500));
  other->give(Bytes(500));
}

TEST_F(NodeBudgetTest, ADamagedLedgerLeavesTheProgramAlone) {
  const Program one = program();
  EXPECT_TRUE(one->take(Bytes(10)));
  std::ofstream(path(), std::ios::trunc) << "something else";
  EXPECT_TRUE(one->take(Bytes(5000)));
  one->give(Bytes(5010));
  EXPECT_EQ(one->look(), Bytes());
}

// Processes that take and give back at random until they are killed. Their rows never show less than they hold, and
// together never more than the budget.
TEST_F(NodeBudgetTest, ProcessesNeverHoldMoreThanTheBudgetTogether) {
  constexpr int kPrograms = 4;
  std::vector<pid_t> children;
  for (int i = 0; i < kPrograms; ++i) {
    children.push_back(start([&, i] {
      const Program one = program(static_cast<std::uint32_t>(1 + i));
      for (std::uint64_t step = static_cast<std::uint64_t>(i);; ++step) {
        if (step % 3 != 0) {
          (void)one->take(Bytes(10 + step % 90));
        } else {
          one->give(std::min(one->used(), Bytes(step % 150)));
        }
        if (step % 7 == 0) look(one);
      }
    }));
  }
  for (int seen = 0, steps = 0; seen < 200 && steps < 100'000; ++steps) {
    const std::vector<LedgerRow> all = rows();
    Bytes sum;
    for (const LedgerRow& row : all) sum += Bytes(row.of(NodeResource::kHostMemory).held);
    ASSERT_LE(sum, Bytes(1000));
    seen += all.size() == kPrograms ? 1 : 0;
    if (all.size() < kPrograms) ::usleep(1000);
  }
  EXPECT_EQ(rows().size(), static_cast<std::size_t>(kPrograms));
  for (const pid_t child : children) {
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  }
  const Program after = program();
  EXPECT_EQ(take_all(after), Bytes(1000)) << "what they held is free";
  after->give(Bytes(1000));
}

}  // namespace
}  // namespace tessera
