#include "machine_probe.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "in_child.hpp"

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

TEST(MachineProbe, FindsTheRefusedIoUringCall) {
  if (!tessera::can_refuse()) GTEST_SKIP() << "no filters of system calls on this machine";
  if (!probe_io_uring().usable()) GTEST_SKIP() << "no io_uring here";
  struct Call {
    long number;
    std::string name;
  };
  for (const Call& call : {Call{SYS_io_uring_setup, "io_uring_setup"}, Call{SYS_io_uring_enter, "io_uring_enter"},
                           Call{SYS_io_uring_register, "io_uring_register"}}) {
    EXPECT_TRUE(tessera::in_child([&call] {
      if (!tessera::refuse({{call.number, EPERM, 0, 0}})) return false;
      const UringFacts facts = probe_io_uring();
      return facts.call == call.name && facts.refusal == EPERM && facts.filtered;
    })) << call.name;
  }
}

TEST(MachineProbe, ReadsTheKernelsIoUringSettings) {
  const std::string sysctl = ::testing::TempDir() + "io_uring_disabled", status = ::testing::TempDir() + "status";
  std::ofstream(sysctl) << "2\n";
  std::ofstream(status) << "Name:\tprogram\nSeccomp:\t2\nSeccomp_filters:\t1\n";
  const UringFacts facts = probe_io_uring(sysctl, status);
  EXPECT_EQ(facts.sysctl, 2);
  EXPECT_TRUE(facts.filtered);
  std::filesystem::remove(sysctl);
  std::filesystem::remove(status);
  EXPECT_EQ(probe_io_uring(sysctl, status).sysctl, 0);
  EXPECT_FALSE(probe_io_uring(sysctl, status).filtered);
}

TEST(MachineProbe, SomeFolderIsChosen) { EXPECT_EQ(choose_spill_folder().problem, ""); }

}  // namespace
