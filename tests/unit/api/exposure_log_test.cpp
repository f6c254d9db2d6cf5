#include "api/exposure_log.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(ExposureLog, KeepsTheFirstCallOfEachReason) {
  ExposureLog log(true);
  EXPECT_EQ(log.first_call("a"), "");
  log.note("a");
  const std::string first = log.first_call("a");
  EXPECT_NE(first, "");
  [&log] { log.note("a"); }();
  EXPECT_EQ(log.first_call("a"), first);
  EXPECT_EQ(log.first_call("b"), "");
}

TEST(ExposureLog, KeepsNothingUnlessAsked) {
  ExposureLog log(false);
  log.note("a");
  EXPECT_EQ(log.first_call("a"), "");
}

TEST(ExposureLog, IsBounded) {
  ExposureLog log(true);
  for (int i = 0; i < 70; ++i) log.note(std::to_string(i).c_str());
  EXPECT_NE(log.first_call("63"), "");
  EXPECT_EQ(log.first_call("64"), "");
}

}  // namespace
}  // namespace tessera
