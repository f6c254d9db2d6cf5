#include "preload_order.hpp"

#include <gtest/gtest.h>

#include "child_environment.hpp"

namespace {

std::string with_ours(const std::string& before) {
  ChildEnvironment environment;
  environment.set("LD_PRELOAD", before);
  add_preload("/ours.so", environment);
  return environment.get("LD_PRELOAD");
}

TEST(PreloadOrder, OurLibraryComesAfterTheUsersAndBeforeADriver) {
  EXPECT_EQ(with_ours(""), "/ours.so");
  EXPECT_EQ(with_ours("/a.so /b.so"), "/a.so:/b.so:/ours.so");
  EXPECT_EQ(with_ours("/a.so:/x/libcuda.so.1:/b.so"), "/a.so:/ours.so:/x/libcuda.so.1:/b.so");
  EXPECT_EQ(with_ours("/a.so:/ours.so:/b.so"), "/a.so:/ours.so:/b.so") << "a program that starts another";
}

TEST(PreloadOrder, OnlyOurLibraryIsRemoved) {
  ChildEnvironment environment;
  environment.set("LD_PRELOAD", "/a.so:/ours.so:/b.so");
  remove_preload("/ours.so", environment);
  EXPECT_EQ(environment.get("LD_PRELOAD"), "/a.so:/b.so");
  environment.set("LD_PRELOAD", "/ours.so");
  remove_preload("/ours.so", environment);
  for (const char* const line : environment.for_exec()) {
    EXPECT_FALSE(line != nullptr && std::string(line).starts_with("LD_PRELOAD=")) << line;
  }
}

TEST(PreloadOrder, TheSanitizerChecksOnlyForeignLibraries) {
  ChildEnvironment environment;
  environment.set("LD_PRELOAD", "/ours.so");
  environment.set("ASAN_OPTIONS", "detect_leaks=0");
  allow_before_sanitizer("/ours.so", false, environment);
  EXPECT_EQ(environment.get("ASAN_OPTIONS"), "verify_asan_link_order=0:detect_leaks=0");
  environment.set("LD_PRELOAD", "/theirs.so:/ours.so");
  environment.set("ASAN_OPTIONS", "detect_leaks=0");
  allow_before_sanitizer("/ours.so", false, environment);
  EXPECT_EQ(environment.get("ASAN_OPTIONS"), "detect_leaks=0");
}

TEST(PreloadOrder, WarnsOfProgramsWithTheSanitizerRuntime) {
  EXPECT_EQ(sanitizer_line("p", {"libm.so.6", "libc.so.6"}, {}), "");
  EXPECT_NE(sanitizer_line("p", {"libasan.so.8", "libc.so.6"}, {"libc.so.6"}), "");
  EXPECT_NE(sanitizer_line("p", {"libclang_rt.asan-x86_64.so"}, {}), "");
  EXPECT_EQ(sanitizer_line("p", {"libclang_rt.asan-x86_64.so"}, {"libclang_rt.asan-x86_64.so"}), "");
}

}  // namespace
