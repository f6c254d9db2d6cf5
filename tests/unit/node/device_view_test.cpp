#include "node/device_view.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tessera {
namespace {

constexpr Nanoseconds kNow{100'000'000'000};

LedgerRow row(std::int32_t pid, Bytes held, Bytes wanted) {
  LedgerRow made;
  made.pid = pid;
  made.weight = 1;
  made.seen_ns = kNow.value();
  made.active_ns = kNow.value();
  made.budget = Bytes(900_MiB).value();
  made.of(NodeResource::kDevice) = {held.value(), wanted.value()};
  return made;
}

LedgerView ledger(std::vector<LedgerRow> rows) {
  LedgerView view;
  view.header.budgets[static_cast<std::size_t>(NodeResource::kDevice)] = Bytes(1000_MiB).value();
  view.rows = std::move(rows);
  return view;
}

TEST(DeviceViewTest, ProgramsThatFitTogetherHaveNoTurns) {
  std::vector<LedgerRow> rows{row(1, 300_MiB, 400_MiB), row(2, 400_MiB, 400_MiB)};
  rows[0].turn_ns = kNow.value() - 1;
  rows[0].slice_ns = 1000;
  const DeviceView view = device_view(ledger(rows), kNow);
  EXPECT_EQ(view.total, 1000_MiB);
  EXPECT_EQ(view.budget, 900_MiB);
  ASSERT_EQ(view.programs.size(), 2U);
  for (const DeviceProgram& program : view.programs) {
    EXPECT_TRUE(program.active);
    EXPECT_EQ(program.turn, Turn::kNone);
  }
}

TEST(DeviceViewTest, OneHasItsTurnAndTheOtherWaits) {
  std::vector<LedgerRow> rows{row(1, 800_MiB, 800_MiB), row(2, Bytes(), 800_MiB)};
  rows[0].turn_ns = kNow.value() - 300;
  rows[0].slice_ns = 1000;
  rows[1].waits_ns = kNow.value();
  DeviceView view = device_view(ledger(rows), kNow);
  EXPECT_EQ(view.programs[0].turn, Turn::kHas);
  EXPECT_EQ(view.programs[0].left, Nanoseconds(700));
  EXPECT_EQ(view.programs[1].turn, Turn::kWaits);
  EXPECT_EQ(view.programs[1].left, Nanoseconds());
  view = device_view(ledger(rows), kNow + Nanoseconds(5000));
  EXPECT_EQ(view.programs[0].turn, Turn::kHas) << "until the other takes it";
  EXPECT_EQ(view.programs[0].left, Nanoseconds());
}

TEST(DeviceViewTest, AProgramThatHasNotUsedTheDeviceIsIdle) {
  std::vector<LedgerRow> rows{row(1, 800_MiB, 800_MiB), row(2, 100_MiB, 800_MiB)};
  rows[0].active_ns = kNow.value() - 2'000'000'000;
  const DeviceView view = device_view(ledger(rows), kNow);
  EXPECT_FALSE(view.programs[0].active);
  EXPECT_TRUE(view.programs[1].active);
}

// The budget is that of the row that was written last; one that is alone has found none.
TEST(DeviceViewTest, TheBudgetIsTheNewest) {
  std::vector<LedgerRow> rows{row(1, 100_MiB, 100_MiB), row(2, 100_MiB, 100_MiB)};
  rows[0].budget = Bytes(800_MiB).value();
  rows[0].seen_ns = kNow.value() + 1;
  EXPECT_EQ(device_view(ledger(rows), kNow).budget, 800_MiB);
  EXPECT_EQ(device_view(ledger({rows[0]}), kNow).budget, Bytes());
  EXPECT_EQ(device_view(ledger({}), kNow).budget, Bytes());
}

}  // namespace
}  // namespace tessera
