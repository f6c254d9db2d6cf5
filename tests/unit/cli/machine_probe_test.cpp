#include "machine_probe.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace {

TEST(MachineProbe, TheModeOfHugePagesIsTheOneInBrackets) {
  const std::string file = ::testing::TempDir() + "huge_pages_mode";
  for (const char* line : {"[madvise] always never", "always [madvise] never", "always never [madvise]\n"}) {
    std::ofstream(file) << line;
    EXPECT_EQ(huge_pages_mode(file), "madvise") << line;
  }
  std::ofstream(file) << "[] never";
  EXPECT_EQ(huge_pages_mode(file), "");
  std::filesystem::remove(file);
  EXPECT_EQ(huge_pages_mode(file), "");
}

TEST(MachineProbe, AProbedFolderIsLeftAsItWas) {
  const std::string folder = ::testing::TempDir() + "machine_probe_test";
  std::filesystem::create_directory(folder);
  const FolderFacts facts = probe_folder(folder);
  EXPECT_EQ(facts.problem, "");
  EXPECT_GT(facts.free_bytes, 0u);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(MachineProbe, AMissingFolderIsAProblem) {
  EXPECT_EQ(probe_folder("/no/such/folder").problem, "No such file or directory");
  EXPECT_FALSE(probe_folder("/no/such/folder").fit());
}

TEST(MachineProbe, MemoryFileSystemsAreSeen) {
  const FolderFacts facts = probe_folder("/dev/shm");
  if (!facts.problem.empty()) GTEST_SKIP() << "no /dev/shm here";
  EXPECT_TRUE(facts.in_memory);
  EXPECT_FALSE(facts.fit());
}

TEST(MachineProbe, SomeFolderIsChosen) { EXPECT_EQ(choose_spill_folder().problem, ""); }

}  // namespace
