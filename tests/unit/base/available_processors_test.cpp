#include "base/available_processors.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>

namespace tessera {
namespace {

// A machine described by its system files.
class AvailableProcessorsTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = std::filesystem::path(testing::TempDir()) / ("available_processors_" + name);
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) {
    const std::filesystem::path file = folder_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  double available() const { return available_processors(folder_.string() + "/"); }
  static double allowed() {
    cpu_set_t allowed;
    ::sched_getaffinity(0, sizeof(allowed), &allowed);
    return CPU_COUNT(&allowed);
  }

  std::filesystem::path folder_;
};

TEST_F(AvailableProcessorsTest, WithoutAQuotaIsTheThreadsAffinity) {
  EXPECT_EQ(available(), allowed());
  write("proc/self/cgroup", "0::/job\n");
  write("sys/fs/cgroup/job/cpu.max", "max 100000\n");
  EXPECT_EQ(available(), allowed());
}

TEST_F(AvailableProcessorsTest, AQuotaOfVersionTwoHolds) {
  write("proc/self/cgroup", "0::/user.slice/job\n");
  write("sys/fs/cgroup/user.slice/job/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/user.slice/cpu.max", "50000 100000\n");
  EXPECT_DOUBLE_EQ(available(), 0.5);
}

TEST_F(AvailableProcessorsTest, AQuotaOfVersionOneHoldsWhereverItIsMounted) {
  write("proc/self/cgroup", "4:cpu,cpuacct:/docker/a1\n3:memory:/docker/a1\n");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "25000\n");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(available(), 0.25);
  write("sys/fs/cgroup/cpu/docker/a1/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/docker/a1/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(available(), 0.25);
}

TEST_F(AvailableProcessorsTest, IsNeverZero) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/cpu.max", "1 100000\n");
  EXPECT_GT(available(), 0);
}

}  // namespace
}  // namespace tessera
