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

TEST(NeededLibraries, A32BitProgramIsOne) {
  const TestElf small(ELFCLASS32, EM_386), arm(ELFCLASS32, EM_ARM);
  EXPECT_TRUE(is_32_bit(small.path()));
  for (const std::string& other :
       {arm.path(), std::string("/proc/self/exe"), std::string("/proc/self/status"), std::string("/no/such/file")}) {
    EXPECT_FALSE(is_32_bit(other)) << other;
  }
}

TEST(NeededLibraries, MuslIsKnownByTheNameOfItsLibrary) {
  for (const char* name : {"libc.so", "libc.musl-x86_64.so.1", "/opt/musl/lib/libc.so"}) {
    EXPECT_TRUE(needs_musl({"libm.so.6", name})) << name;
  }
  EXPECT_FALSE(needs_musl({"libc.so.6", "libcuda.so.1"}));
}

}  // namespace
