#include "base/log.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

class LogTest : public testing::Test {
 protected:
  void TearDown() override { set_log_level(LogLevel::kWarning); }

  template <class Function>
  static std::string written_by(Function function) {
    testing::internal::CaptureStderr();
    function();
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(LogTest, ALineNamesTheProgramAndEndsOnce) {
  EXPECT_EQ(written_by([] { log_line(LogLevel::kWarning, "{} of {}", 3, 4); }), "tessera: 3 of 4\n");
}

TEST_F(LogTest, MessagesBelowTheLevelAreNotWritten) {
  EXPECT_EQ(written_by([] { log_line(LogLevel::kInfo, "hidden"); }), "");
  set_log_level(LogLevel::kInfo);
  EXPECT_EQ(written_by([] { log_line(LogLevel::kInfo, "shown"); }), "tessera: shown\n");
  set_log_level(LogLevel::kQuiet);
  EXPECT_EQ(written_by([] { log_line(LogLevel::kError, "hidden"); }), "");
}

TEST_F(LogTest, AVeryLongLineIsCut) {
  const std::string text = written_by([] { log_line(LogLevel::kError, "{}", std::string(5000, 'x')); });
  EXPECT_EQ(text, "tessera: " + std::string(1024, 'x') + "\n");
}

}  // namespace
}  // namespace tessera
