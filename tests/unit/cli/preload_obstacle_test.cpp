#include "preload_obstacle.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test_elf.hpp"

namespace {

TEST(PreloadObstacle, ProgramsOfThisUsersOwnRightsHaveNone) {
  EXPECT_EQ(preload_obstacle("/proc/self/exe", {"libc.so.6", "libcuda.so.1"}), "");
  EXPECT_EQ(preload_obstacle("", {}), "");
  EXPECT_EQ(preload_obstacle("/no/such/program", {}), "");
}

TEST(PreloadObstacle, MuslIsNamed) {
  for (const char* name : {"libc.so", "libc.musl-x86_64.so.1"}) {
    EXPECT_NE(preload_obstacle("/proc/self/exe", {name}).find("musl"), std::string::npos) << name;
  }
}

TEST(PreloadObstacle, NamesA32BitProgram) {
  const TestElf program(ELFCLASS32, EM_386);
  EXPECT_NE(preload_obstacle(program.path(), {}).find("32-bit"), std::string::npos);
}

TEST(PreloadObstacle, NamesASetuidProgram) {
  std::string path = ::testing::TempDir() + "set-user-id.XXXXXX";
  ::close(::mkstemp(path.data()));
  constexpr uid_t kAnother = 65534;
  const bool changed = ::getuid() != kAnother && ::chown(path.c_str(), kAnother, static_cast<gid_t>(-1)) == 0;
  EXPECT_EQ(preload_obstacle(path, {}), "");
  ASSERT_EQ(::chmod(path.c_str(), 04755), 0);
  const std::string obstacle = preload_obstacle(path, {});
  ::unlink(path.c_str());
  if (!changed) GTEST_SKIP() << "this user can give no file to another";
  if (obstacle.empty()) GTEST_SKIP() << "no program gains rights here";
  EXPECT_NE(obstacle.find("set-user-ID"), std::string::npos) << obstacle;
}

}  // namespace
