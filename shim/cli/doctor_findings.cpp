#include <cerrno>
#include <cstring>

#include <fmt/core.h>

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
          "pages cannot be moved here, so Tessera passes every call to the driver; a bare-metal driver "
          "or a full (not fractional) virtual GPU supports it"};
}

// Never missing: without host-backed pages, eviction is decided by tracking alone.
Finding judge_host_frames(const DeviceFacts& device, const std::string& name) {
  if (device.host_frames) {
    return {name + " host-backed pages", State::kGood,
            "yes: access to an evicted block that launches do not show is slow instead of fatal; with "
            "--unhinted-access host-backed to any evicted block",
            ""};
  }
  return {name + " host-backed pages", State::kGood,
          fmt::format("no ({}): eviction relies on tracking alone", device.host_frames_problem), ""};
}

Finding judge_pinning(const DeviceFacts& device, const std::string& name) {
  if (device.pins_host_memory) return {name + " pinned host memory", State::kGood, "yes", ""};
  return {name + " pinned host memory", State::kLimited, "refused",
          "copies will be slow; raise the locked memory limit: ulimit -l unlimited"};
}

Finding judge_parameters(const DriverFacts& facts) {
  const std::string name = "kernel parameters";
  if (facts.tells_parameters) return {name, State::kGood, "the driver reports their layout", ""};
  return {name, State::kMissing, "this driver does not report their layout, so Tessera passes every call to it",
          "a driver for CUDA 12.4 or newer: 550 or later"};
}

struct Obstacle {
  std::string cause;
  std::string fix;
};

constexpr std::uint64_t kLittleSpace = 256ULL << 20;

const char* const kAllowIt =
    "no action needed, threads are nearly as fast; to enable it, allow io_uring_setup, io_uring_enter and "
    "io_uring_register in the container's seccomp profile (docker run --security-opt seccomp=FILE)";

Obstacle obstacle_to_permission(const UringFacts& facts) {
  if (facts.sysctl == 2) return {"kernel.io_uring_disabled is 2", "sysctl kernel.io_uring_disabled=0"};
  if (facts.sysctl == 1) {
    return {"kernel.io_uring_disabled is 1, which restricts it to CAP_SYS_ADMIN and kernel.io_uring_group",
            "sysctl kernel.io_uring_disabled=0, or add the user to that group"};
  }
  if (facts.filtered) {
    return {"a seccomp filter refuses it, as Docker's and containerd's default profiles do", kAllowIt};
  }
  return {"neither a seccomp filter nor kernel.io_uring_disabled refuses it: possibly a security module",
          "no action needed; the kernel's audit log shows what refuses it"};
}

Obstacle obstacle_to_io_uring(const UringFacts& facts) {
  switch (facts.refusal) {
    case EPERM:
    case EACCES: return obstacle_to_permission(facts);
    case ENOSYS:
      if (facts.filtered) return {"a seccomp filter hides it, as Podman's default profile does", kAllowIt};
      return {"this kernel does not have it", "no action needed; Linux 5.6 or newer with CONFIG_IO_URING has it"};
    case ENOMEM:
      return {fmt::format("the locked memory limit, {}, may be too low for it",
                          facts.locked_limit ? rounded_bytes(*facts.locked_limit) : "unlimited"),
              "ulimit -l unlimited, or memlock in /etc/security/limits.conf; Linux 5.12 or newer does not count it"};
    default: return {"the kernel refuses it", "no action needed; a newer kernel may support it"};
  }
}

}  // namespace

std::vector<Finding> judge_driver(const DriverFacts& facts, bool software) {
  const std::string what = software ? "software driver" : "driver";
  std::vector<Finding> findings;
  if (!facts.found) {
    findings.push_back({what, State::kMissing, facts.problem,
                        software ? "build or install all of Tessera"
                                 : "install the NVIDIA driver, or use --software: programs then run "
                                   "on the software device"});
    return findings;
  }
  const std::string version =
      fmt::format("CUDA {}.{}, {}", facts.version / 1000, facts.version % 1000 / 10, facts.path);
  if (!facts.problem.empty()) {
    findings.push_back({what, State::kMissing, fmt::format("{} ({})", facts.problem, version),
                        "check nvidia-smi; start a container with GPU access (--gpus all)"});
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
    return {name, State::kGood, "yes, for all of Tessera's host memory", ""};
  }
  return {name, State::kLimited, mode.empty() ? "not supported by the kernel" : "switched off",
          mode.empty() ? "pinning host memory takes longer; a kernel with CONFIG_TRANSPARENT_HUGEPAGE has them"
                       : "pinning host memory takes longer: "
                         "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"};
}

Finding judge_memory(const LimitFacts& facts) {
  constexpr std::uint64_t kLittle = 1ULL << 30;
  // A small difference is not a limit: other processes allocate between the two queries.
  const bool bounded = facts.memory + facts.free_memory / 16 < facts.free_memory;
  const std::string value = fmt::format(
      "{} available, --host-memory auto is {}{}", rounded_bytes(facts.memory), rounded_bytes(facts.memory / 4),
      bounded ? fmt::format(": a limit of its control group leaves no more, of {} that the machine has left",
                            rounded_bytes(facts.free_memory))
              : "");
  if (facts.memory >= kLittle) return {"host memory", State::kGood, value, ""};
  return {
      "host memory", State::kLimited, value,
      bounded
          ? "raise memory.max or memory.high (docker run --memory, resources.limits.memory, MemoryMax of systemd), or "
            "give --file-dir"
          : "end other programs, or give --file-dir"};
}

std::vector<Finding> judge_limits(const LimitFacts& facts) {
  constexpr double kFewProcessors = 1;
  constexpr std::uint64_t kFewFiles = 256, kFewTasks = 32;
  std::vector<Finding> findings;
  const bool bounded = facts.processors < facts.all_processors;
  const std::string processors = fmt::format(
      "{:.3g} may be used{}", facts.processors,
      bounded ? fmt::format(" of {:.0f}: a CPU quota or the affinity allows no more", facts.all_processors) : "");
  if (facts.processors < kFewProcessors) {
    findings.push_back(
        {"processors", State::kLimited, processors,
         "the search for a plan takes a thirty-second part of it and so is slow; raise the quota (docker run --cpus, "
         "resources.limits.cpu), or choose --policy recency"});
  } else {
    findings.push_back({"processors", State::kGood, processors, ""});
  }
  if (facts.addresses) {
    findings.push_back(
        {"address limit", State::kLimited, rounded_bytes(*facts.addresses),
         "fewer addresses are reserved for the heap, and CUDA itself may fail to start: ulimit -v unlimited"});
  }
  if (facts.file_bytes) {
    findings.push_back(
        {"file size limit", State::kLimited, rounded_bytes(*facts.file_bytes),
         "each spill file is limited to it; use several --file-dir directories, or ulimit -f unlimited"});
  }
  if (facts.open_files && *facts.open_files < kFewFiles) {
    findings.push_back({"open files limit", State::kLimited, fmt::format("{}", *facts.open_files),
                        "Tessera needs about ten, frameworks need hundreds: ulimit -n 1024"});
  }
  if (facts.tasks && *facts.tasks < kFewTasks) {
    findings.push_back(
        {"tasks limit", State::kLimited, fmt::format("{} more threads", *facts.tasks),
         "raise it (docker run --pids-limit, TasksMax of systemd): without threads, pages move more slowly and "
         "there is no search for a plan"});
  }
  return findings;
}

// Never missing: threads move the pages of a spill file if io_uring is refused (alloc/tier/file_io_choice.hpp).
Finding judge_io_uring(const UringFacts& facts) {
  if (facts.usable()) return {"io_uring", State::kGood, "yes", ""};
  const Obstacle obstacle = obstacle_to_io_uring(facts);
  return {"io_uring", State::kLimited,
          fmt::format("{}: {}: {}; using threads for spill file I/O instead", facts.call, std::strerror(facts.refusal),
                      obstacle.cause),
          obstacle.fix};
}

Finding judge_preset(const PresetOutcome& outcome) {
  const std::string name = fmt::format("preset {}", outcome.preset->framework);
  if (outcome.set.empty()) {
    const std::string value = fmt::format("{} is yours", outcome.left_for);
    if (outcome.outcome.empty()) return {name, State::kGood, value, ""};
    return {name, State::kLimited, fmt::format("{}: {}", value, outcome.outcome),
            "unset it, and `tessera run` chooses what Tessera manages best"};
  }
  return {
      name, State::kGood,
      fmt::format("{}{}, for {} ({})", preset_summary(outcome), outcome.set.front().added ? " (added to yours)" : "",
                  outcome.preset->versions, outcome.preset->source),
      ""};
}

// Good without one: only PyTorch's own allocator needs it.
Finding judge_torch_listeners(const std::string& folder, std::size_t built) {
  const std::string name = "torch listener";
  if (built != 0) return {name, State::kGood, fmt::format("{} in {}", built, folder), ""};
  return {name, State::kGood,
          "none: segments of PyTorch's own allocator (--torch native, expandable_segments) move as a whole; "
          "`python -m tessera torch-listener` builds one where PyTorch and a C++ compiler are",
          ""};
}

Finding judge_folder(const FolderFacts& facts) {
  const std::string name = "file folder";
  const std::string value = fmt::format("{}, {} free", facts.path, rounded_bytes(facts.free_bytes));
  if (!facts.problem.empty()) {
    return {name, State::kMissing, fmt::format("{}: {}", facts.path, facts.problem),
            "set --file-dir to a writable directory"};
  }
  if (facts.in_memory) {
    return {name, State::kLimited, value + ", in memory (tmpfs)",
            "a spill file there only uses more memory; set --file-dir to a directory on a disk"};
  }
  if (facts.free_bytes < kLittleSpace) {
    return {name, State::kLimited, value,
            "too little for a spill file: free some, or give --file-dir a folder on a disk with room"};
  }
  if (!facts.nameless) {
    return {name, State::kLimited, value + ", no O_TMPFILE",
            "a spill file there has a name for a moment, until it is unlinked; on ext4, xfs and btrfs it has none"};
  }
  if (!facts.direct) {
    return {name, State::kLimited, value + ", no O_DIRECT",
            "spilling goes through the page cache; a local ext4 or xfs is faster"};
  }
  return {name, State::kGood, value, ""};
}
