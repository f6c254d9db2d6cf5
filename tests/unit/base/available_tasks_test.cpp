#include "base/available_tasks.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tessera {
namespace {

TEST(AvailableTasks, TheTightestGroupCounts) {
  const std::string root = testing::TempDir() + "available_tasks/";
  const auto write = [&root](const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root + name).parent_path());
    std::ofstream(root + name) << text;
  };
  EXPECT_EQ(available_tasks(root), UINT64_MAX);
  write("proc/self/cgroup", "0::/pod/box\n");
  write("sys/fs/cgroup/pod/box/pids.max", "max\n");
  write("sys/fs/cgroup/pod/box/pids.current", "7\n");
  EXPECT_EQ(available_tasks(root), UINT64_MAX);
  write("sys/fs/cgroup/pod/pids.max", "64\n");
  write("sys/fs/cgroup/pod/pids.current", "60\n");
  EXPECT_EQ(available_tasks(root), 4u);
  write("sys/fs/cgroup/pod/pids.current", "99\n");
  EXPECT_EQ(available_tasks(root), 0u);
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace tessera
