#include <gtest/gtest.h>

#include <cerrno>

#include "doctor_command.hpp"

namespace {

using State = Finding::State;

DriverFacts good_driver() {
  DriverFacts facts;
  facts.found = true;
  facts.path = "/lib/libcuda.so.1";
  facts.version = 12080;
  facts.tells_parameters = true;
  facts.devices = {{"Some GPU", 70ull << 30, 80ull << 30, true, true, "", true}};
  return facts;
}

TEST(DoctorFindings, AGoodMachineNeedsNoFix) {
  for (const Finding& finding : judge_driver(good_driver(), false)) {
    EXPECT_EQ(finding.state, State::kGood) << finding.name;
    EXPECT_EQ(finding.fix, "") << finding.name;
  }
  EXPECT_EQ(judge_driver(good_driver(), false)[0].value, "CUDA 12.8, /lib/libcuda.so.1");
}

TEST(DoctorFindings, EverythingThatIsNotGoodHasAFix) {
  std::vector<Finding> findings;
  DriverFacts none;
  none.problem = "libcuda.so.1 not found";
  DriverFacts no_device = good_driver();
  no_device.devices.clear();
  no_device.problem = "no device";
  DriverFacts poor = good_driver();
  poor.devices[0] = {"Poor GPU", 1, 2, false, false, "CUDA_ERROR_NOT_PERMITTED", false};
  for (const DriverFacts& facts : {none, no_device, poor}) {
    for (const Finding& finding : judge_driver(facts, false)) findings.push_back(finding);
  }
  findings.push_back(judge_locked_memory(64 << 10, poor));
  for (const char* mode : {"always", "madvise", "never", ""}) findings.push_back(judge_huge_pages(mode));
  for (const int refusal : {EPERM, ENOSYS, ENOMEM, EINVAL}) {
    findings.push_back(judge_io_uring({.call = "io_uring_setup", .refusal = refusal}));
  }
  const LimitFacts tight{.processors = 0.5, .addresses = 1 << 30, .file_bytes = 1 << 30, .open_files = 64, .tasks = 4};
  for (const Finding& finding : judge_limits(tight)) findings.push_back(finding);
  findings.push_back(judge_memory({.memory = 90 << 20, .free_memory = 1 << 30}));
  FolderFacts folder;
  folder.path = "/d";
  findings.push_back(judge_folder(folder));
  folder.nameless = true;
  findings.push_back(judge_folder(folder));
  folder.in_memory = true;
  findings.push_back(judge_folder(folder));
  folder.problem = "Permission denied";
  findings.push_back(judge_folder(folder));
  PresetOutcome own;
  own.preset = &preset_table().front();
  own.left_for = "PYTORCH_ALLOC_CONF=expandable_segments:True";
  own.outcome = "it does not move";
  findings.push_back(judge_preset(own));
  own.outcome = "";
  findings.push_back(judge_preset(own));
  own.set = {{"PYTORCH_ALLOC_CONF", "backend:cudaMallocAsync", false}};
  findings.push_back(judge_preset(own));
  findings.push_back(judge_torch_listeners("", 0));
  findings.push_back(judge_torch_listeners("/cache", 2));
  EXPECT_EQ(findings.back().value, "2 in /cache");
  std::size_t bad = 0;
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.state == State::kGood, finding.fix.empty()) << finding.name;
    bad += finding.state != State::kGood;
  }
  EXPECT_EQ(bad, 22u);
}

TEST(DoctorFindings, DistinguishesGroupLimitsFromTheMachine) {
  EXPECT_EQ(judge_memory({.memory = 8ull << 30, .free_memory = 8ull << 30}).value,
            "8.00 GiB available, --host-memory auto is 2.00 GiB");
  const Finding bounded = judge_memory({.memory = 2ull << 30, .free_memory = 8ull << 30});
  EXPECT_EQ(bounded.state, State::kGood);
  EXPECT_NE(bounded.value.find("a limit of its control group leaves no more, of 8.00 GiB"), std::string::npos)
      << bounded.value;
  EXPECT_NE(judge_memory({.memory = 90 << 20, .free_memory = 1 << 30}).fix.find("memory.max"), std::string::npos);
  EXPECT_NE(judge_limits({.processors = 0.5, .all_processors = 2})[0].value.find("a CPU quota"), std::string::npos);
}

TEST(DoctorFindings, LimitsThatDoNotHurtAreNotShown) {
  EXPECT_EQ(judge_limits({.processors = 16, .open_files = 1024, .tasks = 4096}).size(), 1u);
  EXPECT_EQ(judge_limits({.processors = 1.5})[0].value, "1.5 may be used");
  EXPECT_EQ(judge_limits({.processors = 1.5})[0].state, State::kGood);
}

TEST(DoctorFindings, HostBackedPagesAreOfferedOrTheReasonIsGiven) {
  const auto value_of = [](const DriverFacts& facts) {
    for (const Finding& finding : judge_driver(facts, false)) {
      if (finding.name == "device 0 host-backed pages") return finding.value;
    }
    return std::string();
  };
  DriverFacts facts = good_driver();
  EXPECT_NE(value_of(facts).find("--unhinted-access host-backed"), std::string::npos);
  facts.devices[0].host_frames = false;
  facts.devices[0].host_frames_problem = "CUDA_ERROR_NOT_PERMITTED";
  EXPECT_EQ(value_of(facts), "no (CUDA_ERROR_NOT_PERMITTED): eviction relies on tracking alone");
}

TEST(DoctorFindings, ADriverWithoutParameterLayoutsNeedsAnUpdate) {
  DriverFacts facts = good_driver();
  facts.version = 12020;
  facts.tells_parameters = false;
  const Finding finding = judge_driver(facts, false)[1];
  EXPECT_EQ(finding.state, State::kMissing);
  EXPECT_NE(finding.fix.find("12.4"), std::string::npos) << finding.fix;
}

TEST(DoctorFindings, NoDriverPointsToTheSoftwareDevice) {
  DriverFacts facts;
  const auto findings = judge_driver(facts, false);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].state, State::kMissing);
  EXPECT_NE(findings[0].fix.find("--software"), std::string::npos);
}

TEST(DoctorFindings, ALockedMemoryLimitCountsOnlyWherePinningFails) {
  EXPECT_EQ(judge_locked_memory(8 << 20, good_driver()).state, State::kGood);
  EXPECT_EQ(judge_locked_memory(std::nullopt, good_driver()).value, "unlimited");
}

struct Refusal {
  UringFacts facts;
  const char* cause;
  const char* fix;
};

TEST(DoctorFindings, ReportsWhyIoUringIsRefusedAndTheThreadFallback) {
  const Refusal refusals[] = {
      {{.call = "io_uring_setup", .refusal = EPERM, .filtered = true}, "seccomp", "seccomp"},
      {{.call = "io_uring_enter", .refusal = EACCES, .filtered = true}, "io_uring_enter", "seccomp"},
      {{.call = "io_uring_setup", .refusal = EPERM, .sysctl = 2}, "io_uring_disabled is 2", "io_uring_disabled=0"},
      {{.call = "io_uring_setup", .refusal = EPERM, .sysctl = 1}, "io_uring_disabled is 1", "group"},
      {{.call = "io_uring_setup", .refusal = EPERM}, "security module", "audit"},
      {{.call = "io_uring_setup", .refusal = ENOSYS, .filtered = true}, "seccomp", "seccomp"},
      {{.call = "io_uring_setup", .refusal = ENOSYS}, "this kernel does not have it", "Linux 5.6"},
      {{.call = "io_uring_setup", .refusal = ENOMEM, .locked_limit = 64 << 10}, "64.0 KiB", "ulimit -l"},
      {{.call = "io_uring_setup", .refusal = EINVAL}, "Invalid argument", "newer kernel"},
  };
  for (const Refusal& refusal : refusals) {
    const Finding finding = judge_io_uring(refusal.facts);
    EXPECT_EQ(finding.state, State::kLimited);
    EXPECT_NE(finding.value.find(refusal.cause), std::string::npos) << finding.value;
    EXPECT_NE(finding.value.find("using threads"), std::string::npos) << finding.value;
    EXPECT_NE(finding.fix.find(refusal.fix), std::string::npos) << finding.fix;
  }
  EXPECT_EQ(judge_io_uring({}).state, State::kGood);
}

// The file tier works there: alloc/tier/spill_file.hpp.
TEST(DoctorFindings, AFolderWithoutNamelessFilesIsLimitedAndNotMissing) {
  FolderFacts folder;
  folder.path = "/d";
  folder.free_bytes = 1ull << 40;
  folder.direct = true;
  const Finding finding = judge_folder(folder);
  EXPECT_EQ(finding.state, State::kLimited);
  EXPECT_NE(finding.value.find("no O_TMPFILE"), std::string::npos) << finding.value;
}

TEST(DoctorFindings, AFolderOnADiskIsGood) {
  FolderFacts folder;
  folder.path = "/d";
  folder.free_bytes = 1ull << 40;
  folder.nameless = folder.direct = true;
  EXPECT_EQ(judge_folder(folder).state, State::kGood);
}

}  // namespace
