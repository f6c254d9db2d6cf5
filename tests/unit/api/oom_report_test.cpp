#include "api/oom_report.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

OomFigures full_heap() {
  OomFigures figures;
  figures.asked = 64_MiB;
  figures.device = DeviceId(1);
  figures.device_tier = {128_MiB, 120_MiB};
  figures.host_tier = {64_MiB, 64_MiB};
  return figures;
}

TEST(OomReport, AFullHeapWithoutAFileTierAdvisesADirectory) {
  EXPECT_EQ(oom_message(full_heap()),
            "out of memory: 64.0 MiB was requested on device 1, and no tier has room\n"
            "  device  128.0 MiB = 120.0 used + 8.0 free\n"
            "  host    64.0 MiB = 64.0 used + 0.0 free\n"
            "  file    off\n"
            "try: give --file-dir DIRECTORY (TESSERA_FILE_DIR) on a fast local disk; or raise "
            "--host-memory (TESSERA_HOST_MEMORY)");
}

TEST(OomReport, ReportsMemoryInUseByOthers) {
  OomFigures figures = full_heap();
  figures.cause = OomFigures::Cause::kWorkingSet;
  figures.elsewhere = 32_MiB;
  const std::string message = oom_message(figures);
  EXPECT_NE(message.find("\n  32.0 MiB of the budget is not available: the driver has allocated it elsewhere\n"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("try: free memory that the program took from the driver directly"), std::string::npos)
      << message;
  EXPECT_EQ(message.find("--device-memory"), std::string::npos) << "a larger budget would not help";
}

TEST(OomReport, AFullFileTierAdvisesALargerOne) {
  OomFigures figures = full_heap();
  figures.file_tier = {1_GiB, 1_GiB};
  figures.file = OomFigures::FileState::kServes;
  EXPECT_TRUE(oom_message(figures).ends_with(
      "try: raise --file-memory (TESSERA_FILE_MEMORY); or raise --host-memory (TESSERA_HOST_MEMORY)"));
}

TEST(OomReport, AnOptionThatWasGivenIsNotAdvised) {
  OomFigures figures = full_heap();
  figures.file = OomFigures::FileState::kRefused;
  EXPECT_EQ(oom_message(figures).find("give --file-dir"), std::string::npos);
  EXPECT_NE(oom_message(figures).find("tessera doctor"), std::string::npos);
  figures.file = OomFigures::FileState::kSizeZero;
  EXPECT_NE(oom_message(figures).find("try: raise --file-memory"), std::string::npos);
}

TEST(OomReport, AFailedFileTierAdvisesAnotherDirectory) {
  OomFigures figures = full_heap();
  figures.file_tier = {1_GiB, 1_MiB};
  figures.file = OomFigures::FileState::kEnded;
  figures.file_ended = 1_GiB - 1_MiB;
  figures.file_trouble = "spill directory /full: No space left on device";
  const std::string message = oom_message(figures);
  EXPECT_EQ(message.find("--file-memory"), std::string::npos) << message;
  EXPECT_NE(message.find("use another --file-dir"), std::string::npos) << message;
  EXPECT_NE(message.find(figures.file_trouble), std::string::npos) << message;
  EXPECT_NE(message.find("\n  file    1024.0 MiB = 1.0 used + 0.0 free + 1023.0 not written any more\n"),
            std::string::npos)
      << message;
}

TEST(OomReport, ABudgetBeyondWhatIsLeftIsNotAdvised) {
  OomFigures figures = full_heap();
  figures.file_tier = {1_GiB, 1_GiB};
  figures.file = OomFigures::FileState::kServes;
  figures.host_left = 3_GiB;
  figures.disk_left = 5_GiB;
  EXPECT_TRUE(
      oom_message(figures).ends_with("try: raise --file-memory (TESSERA_FILE_MEMORY, 5.00 GiB are left); or raise "
                                     "--host-memory (TESSERA_HOST_MEMORY, 3.00 GiB are left)"))
      << oom_message(figures);
  figures.host_left = 32_MiB;
  EXPECT_NE(oom_message(figures).find("try: raise --file-memory"), std::string::npos) << oom_message(figures);
  EXPECT_NE(oom_message(figures).find("control group leaves it 32.0 MiB"), std::string::npos) << oom_message(figures);
  figures.disk_left = Bytes();
  EXPECT_NE(oom_message(figures).find("a disk with more room, as 0 B are left there"), std::string::npos)
      << oom_message(figures);
  figures.file_limited = true;
  EXPECT_NE(oom_message(figures).find("ulimit -f"), std::string::npos) << oom_message(figures);
}

TEST(OomReport, ReportsAWorkingSetLargerThanTheDevice) {
  OomFigures figures = full_heap();
  figures.cause = OomFigures::Cause::kWorkingSet;
  figures.asked = 200_MiB;
  figures.pinned = 10_MiB;
  EXPECT_EQ(oom_message(figures),
            "out of memory: one launch on device 1 uses 200 MiB at once, more than device memory "
            "can hold\n"
            "  device  128.0 MiB = 120.0 used + 8.0 free\n"
            "  host    64.0 MiB = 64.0 used + 0.0 free\n"
            "  file    off\n"
            "  held on the device: 10.0 MiB pinned, 0 B exposed\n"
            "try: raise --device-memory (TESSERA_DEVICE_MEMORY), or make launches use less memory "
            "at once");
}

TEST(OomReport, AMostlyPinnedDeviceAdvisesUnpinning) {
  OomFigures figures = full_heap();
  figures.pinned = 50_MiB;
  figures.exposed = 30_MiB;
  EXPECT_NE(oom_message(figures).find("try: unpin blocks"), std::string::npos);
}

TEST(OomReport, NamesTheCallThatExposedMost) {
  OomFigures figures = full_heap();
  figures.pinned = 10_MiB;
  figures.exposed = 90_MiB;
  figures.exposed_by = "cuIpcGetMemHandle";
  const std::string message = oom_message(figures);
  EXPECT_NE(message.find("try: avoid exposing blocks, mostly by cuIpcGetMemHandle"), std::string::npos) << message;
  EXPECT_EQ(message.find("--host-memory"), std::string::npos) << message;
}

TEST(OomReport, WithoutAutomaticEvictionAdvisesNoBudget) {
  OomFigures figures = full_heap();
  figures.automatic = false;
  const std::string message = oom_message(figures);
  EXPECT_NE(message.find("automatic eviction"), std::string::npos) << message;
  EXPECT_EQ(message.find("--host-memory"), std::string::npos) << message;
}

TEST(OomReport, AUsedUpWriteBudgetAdvisesALargerOne) {
  OomFigures figures = full_heap();
  figures.file_tier = {1_GiB, 1_MiB};
  figures.file = OomFigures::FileState::kSpent;
  const std::string message = oom_message(figures);
  EXPECT_NE(message.find("try: raise --file-write-budget"), std::string::npos) << message;
  EXPECT_EQ(message.find("another --file-dir"), std::string::npos) << message;
}

TEST(OomReport, ARefusingMachineAdvisesNoLargerBudget) {
  OomFigures figures = full_heap();
  figures.host_tier = {1_GiB, 64_MiB};
  figures.host_refused = true;
  const std::string message = oom_message(figures);
  EXPECT_NE(message.find("try: give the process more host memory"), std::string::npos) << message;
  EXPECT_EQ(message.find("raise --host-memory"), std::string::npos) << message;
}

TEST(OomReport, ABlockLargerThanTheDeviceIsNotCalledALaunch) {
  OomFigures figures = full_heap();
  figures.cause = OomFigures::Cause::kBlock;
  figures.asked = 200_MiB;
  const std::string message = oom_message(figures);
  EXPECT_TRUE(
      message.starts_with("out of memory: a block of 200 MiB was requested on device 1, more than device "
                          "memory can hold\n"))
      << message;
  EXPECT_TRUE(message.ends_with("try: raise --device-memory (TESSERA_DEVICE_MEMORY)")) << message;
}

TEST(OomReport, FitsIntoOneLineOfTheLog) {
  OomFigures figures = full_heap();
  figures.cause = OomFigures::Cause::kWorkingSet;
  figures.asked = Bytes(~0ull);
  figures.device_tier = figures.host_tier = figures.file_tier = {Bytes(~0ull), Bytes(~0ull)};
  figures.pinned = figures.exposed = 1000_TiB;
  for (const auto cause : {OomFigures::Cause::kHeapFull, OomFigures::Cause::kBlock}) {
    figures.cause = cause;
    EXPECT_LT(oom_message(figures).size(), 1000u);
  }
  figures.cause = OomFigures::Cause::kWorkingSet;
  EXPECT_LT(oom_message(figures).size(), 1000u);
}

}  // namespace
}  // namespace tessera
