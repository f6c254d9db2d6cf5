#include "api/budgets.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/available_memory.hpp"
#include "in_child.hpp"

namespace tessera {
namespace {

// Of a device that nothing else uses.
MemoryInfo alone(Bytes bytes) { return {bytes, bytes}; }

TEST(Budgets, AutomaticDeviceMemoryIsWhatIsFreeButForWhatAContextTakesInWholePages) {
  EXPECT_EQ(device_budget(Options(), alone(640_MiB)), 620_MiB);
  EXPECT_EQ(device_budget(Options(), alone(641_MiB)) % 2_MiB, Bytes(0));
  EXPECT_EQ(device_budget(Options(), alone(80_GiB)), 80_GiB - 512_MiB);
  EXPECT_EQ(device_budget(Options(), alone(Bytes(0))), Bytes(0));
}

TEST(Budgets, ReserveForAContextIsAPartOfASmallDeviceAndBoundedOnALargeOne) {
  EXPECT_EQ(context_reserve(64_MiB), 2_MiB);
  EXPECT_EQ(context_reserve(16_GiB), 512_MiB);
  EXPECT_EQ(context_reserve(141_GiB), 512_MiB);
}

TEST(Budgets, DeviceMemoryNeverExceedsWhatIsFree) {
  Options options;
  options.device_memory = 4_GiB;
  EXPECT_EQ(device_budget(options, alone(1_GiB)), 1_GiB);
  EXPECT_EQ(device_budget(options, alone(8_GiB)), 4_GiB);
}

TEST(Budgets, AShareIsOfAllThatTheDeviceHasAndNeverMoreThanIsFree) {
  Options options;
  ASSERT_TRUE(options.set("device-memory", "80%").is_ok());
  EXPECT_EQ(device_budget(options, {10_GiB, 10_GiB}), 8_GiB);
  EXPECT_EQ(device_budget(options, {9_GiB, 10_GiB}), 8_GiB);
  EXPECT_EQ(device_budget(options, {3_GiB, 10_GiB}), 3_GiB);
  ASSERT_TRUE(options.set("device-memory", "100%").is_ok());
  EXPECT_EQ(device_budget(options, {10_GiB, 10_GiB}), 10_GiB);
}

TEST(Budgets, AShareOfHostMemoryIsOfWhatIsAvailable) {
  Options options;
  ASSERT_TRUE(options.set("host-memory", "50%").is_ok());
  EXPECT_GT(host_budget(options), host_budget(Options()));
  EXPECT_LT(host_budget(options), available_memory());
}

TEST(Budgets, AutomaticHostMemoryIsAQuarterOfTheRam) {
  ASSERT_GT(available_memory(), 64_MiB);
  EXPECT_GT(host_budget(Options()), Bytes(0));
  EXPECT_LE(host_budget(Options()), available_memory() / 3);
}

TEST(Budgets, HostMemoryMayBeZero) {
  Options options;
  options.host_memory = Bytes(0);
  EXPECT_EQ(host_budget(options), Bytes(0));
}

TEST(Budgets, WithoutADirectoryAndASizeThereIsNoFileTier) { EXPECT_TRUE(file_budgets(Options()).value().empty()); }

TEST(Budgets, ADirectoryAloneGivesHalfItsSpaceButABoundedOne) {
  Options options;
  options.file_dir = "/tmp";
  const auto budgets = file_budgets(options);
  ASSERT_TRUE(budgets.is_ok());
  ASSERT_EQ(budgets.value().size(), 1u);
  EXPECT_LE(budgets.value()[0].bytes, 256_GiB);
  EXPECT_EQ(budgets.value()[0].directory, "/tmp");
}

TEST(Budgets, ASizeAloneSpillsToTheSystemsPlaceForLargeFiles) {
  Options options;
  options.file_memory = 64_MiB;
  const auto budgets = file_budgets(options);
  ASSERT_EQ(budgets.value().size(), 1u);
  EXPECT_EQ(budgets.value()[0].bytes, 64_MiB);
  EXPECT_EQ(budgets.value()[0].directory, "/var/tmp");
}

TEST(Budgets, SeveralDirectoriesShareTheWholeByTheirFreeSpace) {
  Options options;
  options.file_dir = "/tmp:/var/tmp";
  options.file_memory = 64_MiB;
  const auto budgets = file_budgets(options);
  ASSERT_TRUE(budgets.is_ok());
  ASSERT_EQ(budgets.value().size(), 2u);
  const Bytes first = budgets.value()[0].bytes, second = budgets.value()[1].bytes;
  EXPECT_GE(first + second, 64_MiB);
  EXPECT_LE(first + second, 68_MiB);  // plus rounding of one page each
  const double part = static_cast<double>(first.value()) / static_cast<double>((first + second).value());
  const auto free = [](const char* directory) { return static_cast<double>(free_space(directory).value().value()); };
  EXPECT_NEAR(part, free("/tmp") / (free("/tmp") + free("/var/tmp")), 0.1);
}

TEST(Budgets, SkipsAMissingDirectory) {
  Options options;
  options.file_dir = "/no/such/directory:/tmp";
  options.file_memory = 64_MiB;
  set_log_level(LogLevel::kWarning);
  ::testing::internal::CaptureStderr();
  const auto budgets = file_budgets(options);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("/no/such/directory"), std::string::npos);
  ASSERT_TRUE(budgets.is_ok());
  ASSERT_EQ(budgets.value().size(), 1u);
  EXPECT_EQ(budgets.value()[0].directory, "/tmp");
  EXPECT_EQ(budgets.value()[0].bytes, 64_MiB);
}

TEST(Budgets, AFileIsNeverLargerThanItsDisk) {
  Options options;
  options.file_dir = "/tmp";
  options.file_memory = 1_TiB * 1000;
  set_log_level(LogLevel::kWarning);
  ::testing::internal::CaptureStderr();
  const auto budgets = file_budgets(options);
  ASSERT_TRUE(budgets.is_ok());
  EXPECT_LT(budgets.value()[0].bytes, 1_TiB * 1000);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("exceeds the free space in /tmp"), std::string::npos);
}

TEST(Budgets, AFileIsNeverLargerThanTheProcessMayMakeOne) {
  EXPECT_TRUE(in_child([] {
    Options options;
    options.file_dir = ::testing::TempDir();
    options.file_memory = 64_MiB;
    const struct rlimit limit { (17 << 20) + 5, RLIM_INFINITY };
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    const auto budgets = file_budgets(options);
    return budgets.is_ok() && budgets.value().size() == 1 && budgets.value()[0].bytes == 16_MiB;
  }));
}

TEST(Budgets, AFileOfNoBytesAsksNoDirectory) {
  Options options;
  options.file_dir = "/no/such/directory";
  options.file_memory = Bytes(0);
  EXPECT_TRUE(file_budgets(options).value().empty());
}

TEST(Budgets, ADirectoryThatIsNotThereIsNamed) {
  Options options;
  options.file_dir = "/no/such/directory";
  const auto budget = file_budgets(options);
  ASSERT_FALSE(budget.is_ok());
  EXPECT_EQ(budget.status().code(), Code::kIo);
  EXPECT_NE(budget.status().message().find("/no/such/directory"), std::string_view::npos);
}

}  // namespace
}  // namespace tessera
