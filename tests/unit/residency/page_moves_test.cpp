#include "residency/pages/page_moves.hpp"

#include "page_moves_fixture.hpp"

namespace tessera {
namespace {

TEST_F(PageMovesTest, ARunKeepsItsFramesAndBytesAtAnotherAddress) {
  auto run = resident_run({0, 2});
  fill(*run, 5);
  const Address to = reserve({0, 2});
  const std::uint64_t created = fault().calls(DriverCall::kCreateFrame);
  ASSERT_OK(moves().rehome(*run, to));
  EXPECT_EQ(run->address, to);
  EXPECT_EQ(run->missing.load(), 0U);
  EXPECT_EQ(first_byte(*run), 5);
  EXPECT_EQ(fault().calls(DriverCall::kCreateFrame), created);
  EXPECT_EQ(stats().bytes_out, Bytes());
  EXPECT_EQ(validate_run(*run).to_string(), "ok");
  take_all(*run);
}

TEST_F(PageMovesTest, ARunStaysWhereItIsWhenItCannotBeUnmapped) {
  auto run = resident_run({0, 2});
  fill(*run, 5);
  const Address from = run->address, to = reserve({0, 2});
  fail(DriverCall::kUnmap, 1);
  EXPECT_EQ(moves().rehome(*run, to).code(), Code::kDriver);
  EXPECT_EQ(run->address, from);
  EXPECT_EQ(run->missing.load(), 0U);
  EXPECT_EQ(first_byte(*run), 5);
  take_all(*run);
}

TEST_F(PageMovesTest, ARunInTransferIsNotMoved) {
  auto run = resident_run({0, 1});
  ASSERT_OK(copy_out({run.get(), 0}));
  EXPECT_EQ(moves().rehome(*run, reserve({0, 1})).code(), Code::kBusy);
  ASSERT_TRUE(moves().links.is_done({run.get(), 0}, true).take());
  take_all(*run);
}

}  // namespace
}  // namespace tessera
