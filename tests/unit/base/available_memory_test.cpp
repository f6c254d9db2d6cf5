#include "base/available_memory.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tessera {
namespace {

// A machine described by its system files.
class AvailableMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = std::filesystem::path(testing::TempDir()) / ("available_memory_" + name);
    std::filesystem::remove_all(folder_);
    write("proc/meminfo", "MemTotal:       8388608 kB\nMemFree:         100 kB\nMemAvailable:    4194304 kB\n");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) {
    const std::filesystem::path file = folder_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void limit(const std::string& group, const std::string& limit, Bytes usage, Bytes cache = {}) {
    write(group + "/memory.max", limit + "\n");
    write(group + "/memory.current", std::to_string(usage.value()) + "\n");
    write(group + "/memory.stat", "anon 5\ninactive_file " + std::to_string(cache.value()) + "\nactive_file 7\n");
  }
  Bytes available() const { return available_memory(folder_.string() + "/"); }

  std::filesystem::path folder_;
};

TEST_F(AvailableMemoryTest, WithoutGroupsIsTheKernelsFigure) { EXPECT_EQ(available(), 4_GiB); }

TEST_F(AvailableMemoryTest, NothingIsKnownWithoutTheKernelsAnswer) {
  write("proc/meminfo", "MemTotal: 1 kB\n");
  EXPECT_EQ(available(), Bytes());
}

TEST_F(AvailableMemoryTest, AContainersLimitHolds) {
  write("proc/self/cgroup", "0::/\n");
  limit("sys/fs/cgroup", "1073741824", 768_MiB);
  EXPECT_EQ(available(), 256_MiB);
}

TEST_F(AvailableMemoryTest, AThrottlingLimitCountsAsFull) {
  write("proc/self/cgroup", "0::/\n");
  limit("sys/fs/cgroup", "1073741824", 256_MiB);
  write("sys/fs/cgroup/memory.high", "536870912\n");
  EXPECT_EQ(available(), 256_MiB);
  write("sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(available(), 256_MiB);
  write("sys/fs/cgroup/memory.high", "max\n");
  EXPECT_EQ(available(), 4_GiB);
}

TEST_F(AvailableMemoryTest, ReclaimableCacheCountsAsAvailable) {
  write("proc/self/cgroup", "0::/\n");
  limit("sys/fs/cgroup", "1073741824", 1_GiB, 600_MiB);
  EXPECT_EQ(available(), 600_MiB);
}

TEST_F(AvailableMemoryTest, TheTightestOfTheGroupsAboveCounts) {
  write("proc/self/cgroup", "0::/user.slice/job/step\n");
  limit("sys/fs/cgroup/user.slice/job/step", "max", 100_MiB);
  limit("sys/fs/cgroup/user.slice/job", "536870912", 112_MiB);
  limit("sys/fs/cgroup/user.slice", "3221225472", 1_GiB);
  EXPECT_EQ(available(), 400_MiB);
}

TEST_F(AvailableMemoryTest, AGroupNamedAsOutsideOfItsContainerIsTheTopOne) {
  write("proc/self/cgroup", "0::/docker/0123\n");
  limit("sys/fs/cgroup", "1073741824", 1_GiB - 64_MiB);
  EXPECT_EQ(available(), 64_MiB);
}

TEST_F(AvailableMemoryTest, UsageAboveTheLimitLeavesNothing) {
  write("proc/self/cgroup", "0::/\n");
  limit("sys/fs/cgroup", "1048576", 2_MiB);
  EXPECT_EQ(available(), Bytes());
}

TEST_F(AvailableMemoryTest, TheFirstVersionOfGroupsHasOtherNames) {
  write("proc/self/cgroup", "9:cpu,cpuacct:/job\n4:hugetlb,memory:/job\n1:memory-like:/other\n0::/job\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1073741824\n");
  write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1063256064\n");
  write("sys/fs/cgroup/memory/job/memory.stat", "cache 9\ntotal_inactive_file 20971520\n");
  EXPECT_EQ(available(), 30_MiB);
}

TEST_F(AvailableMemoryTest, LinesThatAreNoneArePassedOver) {
  write("proc/self/cgroup", "\nnonsense\n0:\n0::relative\n");
  EXPECT_EQ(available(), 4_GiB);
}

TEST(AvailableMemory, ThisMachineHasSome) { EXPECT_GT(available_memory(), 1_MiB); }

}  // namespace
}  // namespace tessera
