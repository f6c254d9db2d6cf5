#include "lab/replay/memory_ledger.hpp"

#include <gtest/gtest.h>

#include "base/virtual_clock.hpp"
#include "node/ledger.hpp"

namespace tessera {
namespace {

constexpr bool kAlive = false;

TEST(MemoryLedger, TwoProgramsSeeEachOthersRows) {
  MemoryLedger ledger;
  VirtualClock clock;
  const NodeBudgets budgets{Bytes(), Bytes(), 1_GiB};
  auto one = std::make_unique<Ledger>(ledger.open(kAlive), clock, Ledger::Self{this_process()}, budgets);
  ASSERT_TRUE(one->transact([](Books& books) { books.own_row().of(NodeResource::kDevice) = {5, 7}; }).is_ok());
  std::size_t rows = 0;
  Bytes held;
  {
    Ledger two(ledger.open(kAlive), clock, Ledger::Self{this_process()}, budgets);
    ASSERT_TRUE(two.transact([&](Books& books) {
                     rows = books.rows.size();
                     held = books.held(NodeResource::kDevice);
                   })
                    .is_ok());
    EXPECT_EQ(rows, 2U);
    EXPECT_EQ(held, Bytes(5));
  }
  ASSERT_TRUE(one->transact([&](Books& books) { rows = books.rows.size(); }).is_ok());
  EXPECT_EQ(rows, 1U) << "the second has left";
  one.reset();
  const auto file = ledger.open(kAlive);
  ASSERT_TRUE(file->lock({}).is_ok());
  std::vector<std::byte> bytes(kLedgerBytes);
  EXPECT_EQ(file->read(bytes).value(), 0U) << "the last one removes it";
  EXPECT_EQ(ledger.open(kAlive)->lock({}).code(), Code::kBusy);
  file->unlock();
  EXPECT_TRUE(ledger.open(kAlive)->lock({}).is_ok());
}

TEST(MemoryLedger, AProgramThatIsDeadLeavesItsRow) {
  MemoryLedger ledger;
  VirtualClock clock;
  bool dead = false;
  const ProcessId process{this_process().pid, 1, 0};
  auto one = std::make_unique<Ledger>(ledger.open(dead), clock, Ledger::Self{process}, NodeBudgets{});
  ASSERT_TRUE(one->transact([](Books& books) { books.own_row().of(NodeResource::kDevice) = {5, 7}; }).is_ok());
  dead = true;
  EXPECT_EQ(one->transact([](Books&) {}).code(), Code::kIo);
  one.reset();
  Ledger other(ledger.open(kAlive), clock, Ledger::Self{{process.pid, 2, 0}}, NodeBudgets{});
  Bytes held;
  const auto read = [&](Books& books) { held = books.held(NodeResource::kDevice); };
  ASSERT_TRUE(other.transact(read).is_ok());
  EXPECT_EQ(held, Bytes(5));
  clock.run_until(clock.now() + Ledger::kUnseen + Nanoseconds(1));
  ASSERT_TRUE(other.transact(read).is_ok());
  EXPECT_EQ(held, Bytes()) << "swept";
}

}  // namespace
}  // namespace tessera
