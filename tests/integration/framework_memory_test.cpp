// How frameworks take device memory, replayed call by call (tests/programs/framework_memory.c): what of it is in the
// heap, and what a program whose memory is outside is told.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "program_run.hpp"

namespace tessera::programs {
namespace {

constexpr std::uint64_t kTensor = std::uint64_t{8} << 20;

struct Reported {
  Outcome ran;
  nlohmann::json stats;
  std::uint64_t outside(const char* kind) const { return stats["outside_bytes_by_kind"].value(kind, std::uint64_t{0}); }
  std::uint64_t figure(const char* group, const char* name) const { return stats[group][name].get<std::uint64_t>(); }
};

Reported take(const std::string& way, const std::string& memory) {
  const std::string stats = scratch("s.json");
  Reported reported;
  reported.ran =
      run_preloaded("./framework_memory " + way,
                    {{"TESSERA_SOFTWARE_MEMORY", memory}, {"TESSERA_STATS", stats}, {"TESSERA_HOST_MEMORY", "512MiB"}});
  reported.stats = nlohmann::json::parse(contents(stats), nullptr, false);
  return reported;
}

// All of it moves: the program runs on a device that is smaller than its memory, and where it ran out without Tessera.
void expect_managed(const std::string& way, const std::string& memory, std::uint64_t least_peak) {
  EXPECT_NE(run("./framework_memory " + way, {{"TESSERA_SOFTWARE_MEMORY", memory}}).exit_code, 0) << way;
  const Reported all = take(way, memory);
  EXPECT_EQ(all.ran.output, "ok\n") << way << ": " << all.ran.message;
  EXPECT_EQ(all.ran.message, "") << way;
  EXPECT_GE(all.figure("blocks", "peak_live_bytes"), least_peak) << way;
  EXPECT_GT(all.figure("moves", "bytes_out"), 0u) << way;
  EXPECT_EQ(all.figure("outside", "outside_peak"), 0u) << way;
}

TEST(FrameworkMemory, WhatPyTorchAndComfyUiTakeFromTheDefaultPoolMovesByTensor) {
  expect_managed("torch-async", "40MiB", 8 * kTensor);
}

TEST(FrameworkMemory, WhatXlaTakesFromTheDefaultPoolByNameMovesByTensor) {
  expect_managed("xla-async", "40MiB", 8 * kTensor);
}

TEST(FrameworkMemory, ArenasMoveByRegion) { expect_managed("arena 7", "48MiB", 7 * kTensor); }

// One line that names the kind, its first call and what the user can change.
void expect_told(const std::string& way, const char* kind, const std::string& first, const std::string& remedy) {
  const Reported all = take(way, "256MiB");
  EXPECT_EQ(all.ran.output, "ok\n") << all.ran.message;
  const std::string& line = all.ran.message;
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
  EXPECT_NE(line.find("outside the heap, which does not move"), std::string::npos) << line;
  EXPECT_NE(line.find(first), std::string::npos) << line;
  EXPECT_NE(line.find(remedy), std::string::npos) << line;
  EXPECT_GE(all.figure("outside", "outside_peak"), 12 * kTensor) << way;
  EXPECT_EQ(all.figure("outside", "outside_bytes"), 0u) << way << ": all of it was given back";
  EXPECT_TRUE(all.stats["outside_bytes_by_kind"].contains(kind)) << way;
  EXPECT_NE(all.stats["first_call_by_kind"][kind].get<std::string>().find(first), std::string::npos);
}

TEST(FrameworkMemory, MappedSegmentsAreBlocks) {
  const Reported all = take("torch-segments 12", "256MiB");
  EXPECT_EQ(all.ran.output, "ok\n") << all.ran.message;
  EXPECT_EQ(all.ran.message, "");
  EXPECT_GE(all.figure("blocks", "peak_live_bytes"), 12 * kTensor);
  EXPECT_EQ(all.figure("outside", "outside_peak"), 0u);
}

TEST(FrameworkMemory, CachesAtGivenAddressesAreOutsideAndReported) {
  expect_told("pages-at 12", "virtual_memory", "cuMemCreate of framework_memory", "cudaMallocAsync");
}

TEST(FrameworkMemory, OneLargeMappingIsABlock) {
  const Reported all = take("xla-default 12", "256MiB");
  EXPECT_EQ(all.ran.output, "ok\n") << all.ran.message;
  EXPECT_EQ(all.ran.message, "");
  EXPECT_GE(all.figure("blocks", "peak_live_bytes"), 12 * kTensor);
  EXPECT_EQ(all.figure("outside", "outside_peak"), 0u);
}

TEST(FrameworkMemory, ManagedMemoryIsCountedAndReported) {
  expect_told("managed 12", "managed", "cuMemAllocManaged of framework_memory", "unset TF_FORCE_UNIFIED_MEMORY");
}

// Less than TESSERA_OUTSIDE_LEAST is not worth a line.
TEST(FrameworkMemory, LittleMemoryOutsideIsCountedOnly) {
  const Outcome ran = run_preloaded("./framework_memory pages-at 4", {{"TESSERA_SOFTWARE_MEMORY", "256MiB"}});
  EXPECT_EQ(ran.output, "ok\n");
  EXPECT_EQ(ran.message, "");
}

}  // namespace
}  // namespace tessera::programs
