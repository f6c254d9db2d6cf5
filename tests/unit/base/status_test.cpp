#include "base/status.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace tessera {
namespace {

Status fail_if(bool fails) { return fails ? Status(Code::kIo, "disk gone") : Status::ok(); }
Status passes_on(bool fails, bool& reached_end) {
  TESSERA_TRY(fail_if(fails));
  reached_end = true;
  return Status::ok();
}
Result<int> number(bool fails) {
  if (fails) return Status(Code::kNotFound, "no number");
  return 7;
}
Result<int> doubled(bool fails) {
  TESSERA_TRY_ASSIGN(const int value, number(fails));
  return 2 * value;
}

TEST(Status, SuccessHasNoMessage) {
  const Status status;
  EXPECT_TRUE(status.is_ok());
  EXPECT_EQ(status.code(), Code::kOk);
  EXPECT_EQ(status.message(), "");
  EXPECT_EQ(status.to_string(), "ok");
}

TEST(Status, AFailureKeepsItsCodeAndSentence) {
  const Status status(Code::kOutOfMemory, "3 of 4 bytes are pinned");
  EXPECT_FALSE(status.is_ok());
  EXPECT_EQ(status.code(), Code::kOutOfMemory);
  EXPECT_EQ(status.to_string(), "out of memory: 3 of 4 bytes are pinned");
}

TEST(Status, ADriverErrorNamesTheDriversOwnCode) {
  const Status status(Code::kDriver, "cuMemMap", 201);
  EXPECT_EQ(status.native_code(), 201);
  EXPECT_EQ(status.to_string(), "driver error 201: cuMemMap");
}

TEST(Status, ACopySaysTheSameAsTheOriginal) {
  const Status original(Code::kBusy, "later");
  const Status copy = original;
  EXPECT_EQ(copy.code(), original.code());
  EXPECT_EQ(copy.message(), original.message());
}

TEST(Status, EveryCodeHasANameOfItsOwn) {
  for (int code = 0; code <= static_cast<int>(Code::kInternal); ++code) {
    EXPECT_NE(name_of(static_cast<Code>(code)), "unknown code") << code;
  }
  EXPECT_EQ(name_of(static_cast<Code>(-1)), "unknown code");
}

TEST(Status, TryLeavesTheFunctionAtTheFirstError) {
  bool reached_end = false;
  EXPECT_EQ(passes_on(true, reached_end).code(), Code::kIo);
  EXPECT_FALSE(reached_end);
  EXPECT_TRUE(passes_on(false, reached_end).is_ok());
  EXPECT_TRUE(reached_end);
}

TEST(Result, HoldsAValueOrTheReasonWhyThereIsNone) {
  EXPECT_EQ(doubled(false).value(), 14);
  EXPECT_TRUE(doubled(false).status().is_ok());
  EXPECT_FALSE(doubled(true).is_ok());
  EXPECT_EQ(doubled(true).status().message(), "no number");
}

TEST(Result, MoveOnlyValuesCanBeTakenOut) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(3));
  const std::unique_ptr<int> value = result.take();
  EXPECT_EQ(*value, 3);
}

}  // namespace
}  // namespace tessera
