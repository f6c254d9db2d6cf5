#include "lab/fuzz/fuzz_program.hpp"

#include <gtest/gtest.h>

#include <set>

#include "policy/policy.hpp"

namespace tessera {
namespace {

std::string text_of(const FuzzProgram& program) {
  std::string text = describe(program.setup);
  for (const FuzzOp& op : program.ops) text += "\n" + describe(op);
  return text;
}

TEST(FuzzProgram, DependsOnlyOnItsSeed) {
  EXPECT_EQ(text_of(make_fuzz(7, 200)), text_of(make_fuzz(7, 200)));
  EXPECT_NE(text_of(make_fuzz(7, 200)), text_of(make_fuzz(8, 200)));
}

TEST(FuzzProgram, AShorterProgramIsAPrefixOfALongerOne) {
  EXPECT_EQ(text_of(make_fuzz(7, 200)).find(text_of(make_fuzz(7, 100))), 0U);
}

TEST(FuzzProgram, EveryKindAndEveryDiskFaultIsDrawn) {
  std::set<FuzzKind> kinds;
  std::set<DiskFault> disk_faults;
  for (const FuzzOp& op : make_fuzz(1, 5000).ops) kinds.insert(op.kind);
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    for (const FuzzOp& op : make_fuzz(seed, 2000).ops) {
      kinds.insert(op.kind);
      if (op.kind == FuzzKind::kDiskFault) disk_faults.insert(op.fault);
      EXPECT_LT(op.slots[0], FuzzProgram::kSlots);
      EXPECT_GT(op.bytes, Bytes());
    }
  }
  EXPECT_EQ(kinds.size(), static_cast<std::size_t>(FuzzKind::kStopFaults) + 1);
  EXPECT_EQ(disk_faults.size(), static_cast<std::size_t>(kDiskFaults));
}

TEST(FuzzProgram, LargeBlocksThatAreCutAreDrawn) {
  int large = 0, cuts = 0, beyond = 0;
  for (std::uint64_t seed = 1; seed < 100; ++seed) {
    const FuzzProgram program = make_fuzz(seed, 300);
    for (const FuzzOp& op : program.ops) {
      EXPECT_TRUE(program.setup.parts || op.kind != FuzzKind::kCut);
      large += op.kind == FuzzKind::kAllocate && op.bytes >= 256_MiB ? 1 : 0;
      beyond += op.kind == FuzzKind::kAllocate && op.bytes > program.setup.device ? 1 : 0;
      cuts += op.kind == FuzzKind::kCut ? 1 : 0;
    }
  }
  EXPECT_GT(large, 100);
  EXPECT_GT(beyond, 20);
  EXPECT_GT(cuts, 100);
}

TEST(FuzzProgram, DriversThatTakeMemoryAndSeveralDevicesAreDrawn) {
  int shared = 0, crowds = 0, apart = 0, plain = 0;
  for (std::uint64_t seed = 1; seed < 400; ++seed) {
    const FuzzProgram program = make_fuzz(seed, 1);
    shared += program.setup.shared ? 1 : 0;
    crowds += program.setup.devices == FuzzProgram::kMostDevices ? 1 : 0;
    apart += program.setup.apart ? 1 : 0;
    plain += program.setup.shared || program.setup.devices > 1 ? 0 : 1;
  }
  EXPECT_GT(shared, 60);
  EXPECT_GT(crowds, 40);
  EXPECT_GT(apart, 0);
  EXPECT_GT(plain, 150);
}

TEST(FuzzProgram, AllPublishedPoliciesAreDrawnAloneAndWithinLoops) {
  std::set<std::string_view> alone, within;
  for (std::uint64_t seed = 1; seed < 40; ++seed) {
    for (const FuzzOp& op : make_fuzz(seed, 1000).ops) {
      if (op.kind == FuzzKind::kSetPolicy) alone.insert(op.policy);
      if (op.kind == FuzzKind::kLoop && !op.policy.empty()) within.insert(op.policy);
      if (op.policy.empty()) continue;
      EXPECT_NE(describe(op).find(op.policy), std::string::npos) << describe(op);
    }
  }
  EXPECT_EQ(alone.size(), policies().size());
  EXPECT_EQ(within.size(), policies().size());
}

}  // namespace
}  // namespace tessera
