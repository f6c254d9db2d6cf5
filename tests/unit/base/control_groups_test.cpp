#include "base/control_groups.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tessera {
namespace {

class ControlGroupsTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ =
        testing::TempDir() + "control_groups_" + testing::UnitTest::GetInstance()->current_test_info()->name() + "/";
    std::filesystem::create_directories(root_ + "proc/self");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::vector<std::string> folders(const std::string& controller, const std::string& lines) const {
    std::ofstream(root_ + "proc/self/cgroup") << lines;
    std::vector<std::string> found;
    for (const ControlGroup& group : control_groups(controller, root_))
      found.push_back(group.folder.substr(root_.size()));
    return found;
  }

  std::string root_;
};

TEST_F(ControlGroupsTest, ListsGroupsOfTheControllerUpToTheRoot) {
  EXPECT_EQ(folders("memory", "0::/a/b\n"),
            (std::vector<std::string>{"sys/fs/cgroup/a/b/", "sys/fs/cgroup/a/", "sys/fs/cgroup/"}));
  EXPECT_EQ(folders("memory", "7:memory:/a\n5:cpu:/b\n"),
            (std::vector<std::string>{"sys/fs/cgroup/memory/a/", "sys/fs/cgroup/memory/"}));
  EXPECT_EQ(folders("cpu", "5:cpu,cpuacct:/\n"),
            (std::vector<std::string>{"sys/fs/cgroup/cpu/", "sys/fs/cgroup/cpu,cpuacct/"}));
}

TEST_F(ControlGroupsTest, LinesThatAreNoneArePassedOver) {
  EXPECT_TRUE(folders("memory", "nonsense\n1:memory:\n2:cpuset:/x\n").empty());
}

TEST_F(ControlGroupsTest, NumbersAreReadByTheirKey) {
  std::ofstream(root_ + "stat") << "anon 5\ninactive_file 17\n";
  std::ofstream(root_ + "limit") << "max\n";
  EXPECT_EQ(number_in(root_ + "stat", "inactive_file"), 17u);
  EXPECT_EQ(number_in(root_ + "stat", "file"), std::nullopt);
  EXPECT_EQ(number_in(root_ + "limit"), std::nullopt);
  EXPECT_EQ(number_in(root_ + "none"), std::nullopt);
}

}  // namespace
}  // namespace tessera
