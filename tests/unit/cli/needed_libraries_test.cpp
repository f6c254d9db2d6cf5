#include "needed_libraries.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "test_elf.hpp"

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

TEST(NeededLibraries, LinkingIsReadFromTheFile) {
  EXPECT_EQ(linking_of("/proc/self/exe"), Linking::kDynamic);
  EXPECT_EQ(linking_of("/proc/self/status"), Linking::kOther);
  EXPECT_EQ(linking_of("/no/such/file"), Linking::kOther);
  if (std::filesystem::exists("/lib64/ld-linux-x86-64.so.2")) {
    EXPECT_EQ(linking_of("/lib64/ld-linux-x86-64.so.2"), Linking::kDynamic);
  }
  const TestElf small(ELFCLASS32, EM_386), fixed(ELFCLASS64, EM_X86_64);
  EXPECT_EQ(linking_of(small.path()), Linking::k32Bit);
  EXPECT_EQ(linking_of(fixed.path()), Linking::kStatic);
}

}  // namespace
