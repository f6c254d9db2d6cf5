#include "node/ledger_view.hpp"

#include <sys/wait.h>

#include <fstream>

#include "ledger_fixture.hpp"

namespace tessera {
namespace {

constexpr auto kShown = NodeResource::kHostMemory;

TEST_F(LedgerTest, AViewShowsTheProgramsAndJoinsNothing) {
  EXPECT_EQ(view_ledger(*open()).status().code(), Code::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(path())) << "a look makes no file";
  const auto one = join(1), other = join(3);
  ASSERT_TRUE(hold(*one, Bytes(900)).is_ok());
  ASSERT_TRUE(hold(*other, Bytes(900)).is_ok());
  const LedgerView view = view_ledger(*open()).take();
  ASSERT_EQ(view.rows.size(), 2U);
  EXPECT_EQ(view.header.budget(kShown), Bytes(1000));
  EXPECT_EQ(view.entitlement(kShown, 0).share + view.entitlement(kShown, 1).share, Bytes(1000));
  EXPECT_EQ(rows().size(), 2U);
}

TEST_F(LedgerTest, AViewLeavesOutTheDead) {
  const pid_t child = start([&] {
    const auto ledger = join();
    if (hold(*ledger, Bytes(400)).is_ok()) ::raise(SIGKILL);
  });
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(rows().size(), 1U);
  EXPECT_TRUE(view_ledger(*open()).take().rows.empty());
  EXPECT_FALSE(std::filesystem::exists(path())) << "nothing uses it any more";
}

TEST_F(LedgerTest, AWeightIsSetInTheRowOfItsProcess) {
  const auto ledger = join(1);
  EXPECT_EQ(set_weight(*open(), this_process(), 5).code(), Code::kNotFound);
  ASSERT_TRUE(hold(*ledger, Bytes(10)).is_ok());
  ASSERT_TRUE(set_weight(*open(), this_process(), 5).is_ok());
  EXPECT_EQ(set_weight(*open(), ProcessId{1, 1, 1}, 9).code(), Code::kNotFound);
  EXPECT_EQ(view_ledger(*open()).take().rows[0].weight, 5U);
  ASSERT_TRUE(hold(*ledger, Bytes(20)).is_ok());
  EXPECT_EQ(books_of(*ledger).own_row().weight, 5U);
}

TEST_F(LedgerTest, ADeviceLimitIsSetInTheRowOfItsProcessAndNeverAboveTheDevice) {
  const auto ledger = join(1, {Bytes(), Bytes(), Bytes(1000)});
  ASSERT_TRUE(ledger->transact([](Books& books) { books.own_row().limit = 500; }).is_ok());
  for (const Bytes limit : {Bytes(400), Bytes(1000)}) {
    ASSERT_TRUE(set_device_limit(*open(), this_process(), limit).is_ok());
    EXPECT_EQ(Bytes(books_of(*ledger).own_row().limit_set), limit) << "its program takes it over";
  }
  const Status above = set_device_limit(*open(), this_process(), Bytes(1001));
  EXPECT_EQ(above.code(), Code::kInvalidArgument);
  EXPECT_NE(above.message().find("1000 B"), std::string::npos) << above.to_string();
  EXPECT_EQ(books_of(*ledger).own_row().limit_set, 1000U);
  ASSERT_TRUE(set_device_limit(*open(), this_process(), Bytes()).is_ok());
  EXPECT_EQ(books_of(*ledger).own_row().limit_set, 0U);
  EXPECT_EQ(set_device_limit(*open(), ProcessId{1, 1, 1}, Bytes(1)).code(), Code::kNotFound);
}

TEST_F(LedgerTest, ADeviceLimitIsSetInAllRowsOfItsProcess) {
  const auto one = join(1, {Bytes(), Bytes(), Bytes(1000)}), other = join();
  ASSERT_TRUE(hold(*one, Bytes(1)).is_ok());
  ASSERT_TRUE(hold(*other, Bytes(1)).is_ok());
  ASSERT_TRUE(set_device_limit(*open(), this_process(), Bytes(600)).is_ok());
  EXPECT_EQ(rows().size(), 2U);
  for (const LedgerRow& row : rows()) EXPECT_EQ(row.limit_set, 600U);
}

TEST_F(LedgerTest, AViewOfADamagedFileIsAnError) {
  const auto ledger = join();
  ASSERT_TRUE(hold(*ledger, Bytes(10)).is_ok());
  std::ofstream(path(), std::ios::trunc) << "damaged";
  EXPECT_EQ(view_ledger(*open()).status().code(), Code::kDataLoss);
  EXPECT_EQ(set_weight(*open(), this_process(), 5).code(), Code::kDataLoss);
}

}  // namespace
}  // namespace tessera
