#include "lab/replay/memory_ledger.hpp"

#include <gtest/gtest.h>

#include "base/virtual_clock.hpp"
#include "node/ledger.hpp"

namespace tessera {
namespace {

TEST(MemoryLedger, TwoProgramsSeeEachOthersRows) {
  MemoryLedger ledger;
  VirtualClock clock;
  const NodeBudgets budgets{Bytes(), Bytes(), 1_GiB};
  auto one = std::make_unique<Ledger>(ledger.open(), clock, Ledger::Self{this_process()}, budgets);
  ASSERT_TRUE(one->transact([](Books& books) { books.own_row().of(NodeResource::kDevice) = {5, 7}; }).is_ok());
  std::size_t rows = 0;
  Bytes held;
  {
    Ledger two(ledger.open(), clock, Ledger::Self{this_process()}, budgets);
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
  const auto file = ledger.open();
  ASSERT_TRUE(file->lock({}).is_ok());
  std::vector<std::byte> bytes(kLedgerBytes);
  EXPECT_EQ(file->read(bytes).value(), 0U) << "the last one removes it";
  EXPECT_EQ(ledger.open()->lock({}).code(), Code::kBusy);
  file->unlock();
  EXPECT_TRUE(ledger.open()->lock({}).is_ok());
}

}  // namespace
}  // namespace tessera
