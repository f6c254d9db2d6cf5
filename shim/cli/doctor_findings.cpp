#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "doctor_command.hpp"
#include "rounded.hpp"

namespace {

using State = Finding::State;

Finding judge_memory_of(const DeviceFacts& device, const std::string& name) {
  return {name, State::kGood,
          fmt::format("{}, {} of {} free", device.name, rounded_bytes(device.free_bytes),
                      rounded_bytes(device.total_bytes)),
          ""};
}

Finding judge_virtual_memory(const DeviceFacts& device, const std::string& name) {
  if (device.virtual_memory) return {name + " virtual memory", State::kGood, "yes", ""};
  return {name + " virtual memory", State::kMissing, "no",
          "pages cannot be moved here, so Tessera passes every call through; a bare-metal driver "
          "or a full (not fractional) virtual GPU has it"};
}

// Never bad: without them what leaves the device is decided by tracking alone, as it is by default.
Finding judge_host_frames(const DeviceFacts& device, const std::string& name) {
  if (device.host_frames) {
    return {name + " host-backed pages", State::kGood,
            "yes: --unhinted-access host-backed makes touches that nobody announced slow, not fatal", ""};
  }
  return {name + " host-backed pages", State::kGood,
          fmt::format("no ({}): what leaves is decided by tracking alone", device.host_frames_problem),
          ""};
}

Finding judge_pinning(const DeviceFacts& device, const std::string& name) {
  if (device.pins_host_memory) return {name + " pinned host memory", State::kGood, "yes", ""};
  return {name + " pinned host memory", State::kLimited, "refused",
          "copies will be slow; raise the limit on locked memory: ulimit -l unlimited"};
}

Finding judge_parameters(const DriverFacts& facts) {
  const std::string name = "kernel parameters";
  if (facts.tells_parameters) return {name, State::kGood, "the driver tells where they lie", ""};
  return {name, State::kMissing, "not told by this driver, so Tessera passes every call through",
          "a driver for CUDA 12.4 or newer: 550 or later"};
}

}  // namespace

std::vector<Finding> judge_driver(const DriverFacts& facts, bool software) {
  const std::string what = software ? "software driver" : "driver";
  std::vector<Finding> findings;
  if (!facts.found) {
    findings.push_back({what, State::kMissing, facts.problem,
                        software ? "build or install the whole of Tessera"
                                 : "install the NVIDIA driver, or use --software: programs then run "
                                   "on the software device"});
    return findings;
  }
  const std::string version =
      fmt::format("CUDA {}.{}, {}", facts.version / 1000, facts.version % 1000 / 10, facts.path);
  if (!facts.problem.empty()) {
    findings.push_back({what, State::kMissing, fmt::format("{} ({})", facts.problem, version),
                        "check nvidia-smi; in a container start it with its GPUs (--gpus all)"});
  } else {
    findings.push_back({what, State::kGood, version, ""});
    findings.push_back(judge_parameters(facts));
  }
  for (std::size_t i = 0; i < facts.devices.size(); ++i) {
    const std::string name = fmt::format("device {}", i);
    findings.push_back(judge_memory_of(facts.devices[i], name));
    findings.push_back(judge_virtual_memory(facts.devices[i], name));
    findings.push_back(judge_host_frames(facts.devices[i], name));
    findings.push_back(judge_pinning(facts.devices[i], name));
  }
  return findings;
}

Finding judge_locked_memory(std::optional<std::uint64_t> limit, const DriverFacts& driver) {
  const std::string value = limit ? rounded_bytes(*limit) : "unlimited";
  bool refused = false;
  for (const DeviceFacts& device : driver.devices) refused |= !device.pins_host_memory;
  if (!limit || !refused) return {"locked memory limit", State::kGood, value, ""};
  return {"locked memory limit", State::kLimited, value,
          "ulimit -l unlimited, or memlock in /etc/security/limits.conf"};
}

Finding judge_huge_pages(const std::string& mode) {
  const std::string name = "huge pages";
  if (mode == "always" || mode == "madvise") {
    return {name, State::kGood, "yes, for all host memory of Tessera's", ""};
  }
  return {name, State::kLimited, mode.empty() ? "the kernel has none" : "switched off",
          mode.empty() ? "host memory takes longer to pin; a kernel with CONFIG_TRANSPARENT_HUGEPAGE has them"
                       : "host memory takes longer to pin: "
                         "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"};
}

Finding judge_io_uring(int refusal) {
  if (refusal == 0) return {"io_uring", State::kGood, "yes", ""};
  return {"io_uring", State::kMissing, std::strerror(refusal),
          refusal == ENOSYS ? "the file tier needs Linux 5.1 or newer"
                            : "the file tier needs it: sysctl kernel.io_uring_disabled=0; in a "
                              "container allow io_uring in the seccomp profile"};
}

Finding judge_folder(const FolderFacts& facts) {
  const std::string name = "file folder";
  const std::string value = fmt::format("{}, {} free", facts.path, rounded_bytes(facts.free_bytes));
  if (!facts.problem.empty()) {
    return {name, State::kMissing, fmt::format("{}: {}", facts.path, facts.problem),
            "give --file-dir a folder that you may write to"};
  }
  if (facts.in_memory) {
    return {name, State::kLimited, value + ", in memory (tmpfs)",
            "a spill file there only takes more memory; give --file-dir a folder on a disk"};
  }
  if (!facts.nameless) {
    return {name, State::kLimited, value + ", no O_TMPFILE",
            "a spill file has a name there until it is unlinked, at once; ext4, xfs and btrfs need none"};
  }
  if (!facts.direct) {
    return {name, State::kLimited, value + ", no O_DIRECT",
            "spilling goes through the page cache; a local ext4 or xfs is faster"};
  }
  return {name, State::kGood, value, ""};
}
