#include "api/budgets.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Budgets, AutomaticDeviceMemoryIsNineTenthsOfWhatIsFreeInWholePages) {
  EXPECT_EQ(device_budget(Options(), 1000_MiB), 900_MiB);
  EXPECT_EQ(device_budget(Options(), 1001_MiB) % 2_MiB, Bytes(0));
}

TEST(Budgets, DeviceMemoryNeverExceedsWhatIsFree) {
  Options options;
  options.device_memory = 4_GiB;
  EXPECT_EQ(device_budget(options, 1_GiB), 1_GiB);
  EXPECT_EQ(device_budget(options, 8_GiB), 4_GiB);
}

TEST(Budgets, AutomaticHostMemoryIsAQuarterOfTheRam) {
  ASSERT_GT(available_host_memory(), 64_MiB);
  EXPECT_GT(host_budget(Options()), Bytes(0));
  EXPECT_LE(host_budget(Options()), available_host_memory() / 3);
}

TEST(Budgets, HostMemoryMayBeNothing) {
  Options options;
  options.host_memory = Bytes(0);
  EXPECT_EQ(host_budget(options), Bytes(0));
}

TEST(Budgets, WithoutADirectoryAndASizeThereIsNoFileTier) {
  EXPECT_EQ(file_budget(Options()).value(), Bytes(0));
}

TEST(Budgets, ADirectoryAloneGivesHalfItsSpaceButABoundedOne) {
  Options options;
  options.file_dir = "/tmp";
  const auto budget = file_budget(options);
  ASSERT_TRUE(budget.is_ok());
  EXPECT_LE(budget.value(), 256_GiB);
  EXPECT_EQ(spill_directory(options), "/tmp");
}

TEST(Budgets, ASizeAloneSpillsToTheSystemsPlaceForLargeFiles) {
  Options options;
  options.file_memory = 64_MiB;
  EXPECT_EQ(file_budget(options).value(), 64_MiB);
  EXPECT_EQ(spill_directory(options), "/var/tmp");
}

TEST(Budgets, AFileIsNeverLargerThanItsDisk) {
  Options options;
  options.file_dir = "/tmp";
  options.file_memory = 1_TiB * 1000;
  set_log_level(LogLevel::kWarning);
  ::testing::internal::CaptureStderr();
  const auto budget = file_budget(options);
  ASSERT_TRUE(budget.is_ok());
  EXPECT_LT(budget.value(), 1_TiB * 1000);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("more than is free in /tmp"),
            std::string::npos);
}

TEST(Budgets, AFileOfNoBytesAsksNoDirectory) {
  Options options;
  options.file_dir = "/no/such/directory";
  options.file_memory = Bytes(0);
  EXPECT_EQ(file_budget(options).value(), Bytes(0));
}

TEST(Budgets, ADirectoryThatIsNotThereIsNamed) {
  Options options;
  options.file_dir = "/no/such/directory";
  const auto budget = file_budget(options);
  ASSERT_FALSE(budget.is_ok());
  EXPECT_EQ(budget.status().code(), Code::kIo);
  EXPECT_NE(budget.status().message().find("/no/such/directory"), std::string_view::npos);
}

}  // namespace
}  // namespace tessera
