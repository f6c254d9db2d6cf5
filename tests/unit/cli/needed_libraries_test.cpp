#include "needed_libraries.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace {

TEST(NeededLibraries, AreReadFromProgramsOnly) {
  const auto needed = needed_libraries("/proc/self/exe");
  EXPECT_NE(std::find(needed.begin(), needed.end(), "libc.so.6"), needed.end());
  EXPECT_TRUE(needed_libraries("/proc/self/status").empty());
  EXPECT_TRUE(needed_libraries("/no/such/file").empty());
  EXPECT_EQ(find_program("sh", "/nowhere:/bin"), "/bin/sh");
  EXPECT_EQ(find_program("./sh", "/bin"), "./sh");
  EXPECT_EQ(find_program("no-such-program", "/bin"), "");
}

}  // namespace
