#include "api/call.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>

namespace tessera {
namespace {

TEST(ApiCall, ReturnsTheCodeAndKeepsTheSentence) {
  EXPECT_EQ(api_call([] { return Status(Code::kNotFound, "no such block"); }), TESSERA_NOT_FOUND);
  EXPECT_STREQ(last_error_text(), "no such block");
}

TEST(ApiCall, SuccessLeavesTheLastErrorAlone) {
  EXPECT_EQ(api_call([] { return Status(Code::kBusy, "pinned"); }), TESSERA_BUSY);
  EXPECT_EQ(api_call([] { return Status(); }), TESSERA_OK);
  EXPECT_STREQ(last_error_text(), "pinned");
}

TEST(ApiCall, KeepsTheDriversOwnCode) {
  EXPECT_EQ(api_call([] { return Status(Code::kDriver, "refused", 700); }), TESSERA_DRIVER);
  EXPECT_EQ(last_driver_code(), 700);
  EXPECT_EQ(api_call([] { return Status(Code::kBusy, "pinned"); }), TESSERA_BUSY);
  EXPECT_EQ(last_driver_code(), 0);
}

TEST(ApiCall, LetsNoExceptionOut) {
  EXPECT_EQ(api_call([]() -> Status { throw std::bad_alloc(); }), TESSERA_OUT_OF_MEMORY);
  EXPECT_EQ(api_call([]() -> Status { throw std::runtime_error("broken"); }), TESSERA_INTERNAL);
  EXPECT_STREQ(last_error_text(), "broken");
  EXPECT_EQ(api_call([]() -> Status { throw 7; }), TESSERA_INTERNAL);
}

TEST(ApiCall, CutsALongMessage) {
  const std::string text(10000, 'x');
  EXPECT_EQ(api_call([&] { return Status(Code::kIo, text); }), TESSERA_IO);
  EXPECT_LT(std::string(last_error_text()).size(), text.size());
}

TEST(ApiCall, TheLastErrorIsTheThreadsOwn) {
  EXPECT_EQ(api_call([] { return Status(Code::kIo, "mine"); }), TESSERA_IO);
  std::thread([] { EXPECT_STREQ(last_error_text(), ""); }).join();
}

}  // namespace
}  // namespace tessera
