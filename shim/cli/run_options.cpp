#include "run_options.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include <fmt/core.h>

#include "child_environment.hpp"
#include "control_client.hpp"
#include "folder_list.hpp"
#include "tessera/tessera.h"

namespace {

constexpr const char* kSoftwareMemory = "TESSERA_SOFTWARE_MEMORY";

bool is_path(const std::string& name) {
  return name == "file-dir" || name == "control-dir" || name == "torch-listeners" || name == "stats" ||
         name == "trace" || name == "timeline" || name == "history";
}

// Makes paths absolute, as the program may change its folder before using them; for file-dir, each folder of the list.
std::string absolute_paths(const std::string& name, const std::string& value) {
  if (name != "file-dir") return std::filesystem::absolute(value).string();
  std::vector<std::string> folders = folders_in(value);
  for (std::string& folder : folders) folder = std::filesystem::absolute(folder).string();
  return folder_list(folders);
}

std::optional<TorchChoice> find_choice(const std::string& torch) {
  if (torch.empty() || torch == "auto") return TorchChoice::kAuto;
  if (torch == "async") return TorchChoice::kAsync;
  if (torch == "native") return TorchChoice::kNative;
  return std::nullopt;
}

std::string set_in(tessera_options* options, const char* name, const std::string& value) {
  if (tessera_options_set(options, name, value.c_str()) == TESSERA_OK) return "";
  return fmt::format("--{}", tessera_last_error());
}

}  // namespace

RunOptions::RunOptions()
    : settings{
          {"device-memory", "TESSERA_DEVICE_MEMORY", "SIZE|N%",
           "device memory to fill (auto: all that is free but for a context)", ""},
          {"peer-memory", "TESSERA_PEER_MEMORY", "DEVICE:SIZE[,...]", "memory that devices lend to all others (none)",
           ""},
          {"host-memory", "TESSERA_HOST_MEMORY", "SIZE|N%",
           "pinned host memory to use (auto: a quarter of the RAM available)", ""},
          {"host-blocks", "TESSERA_HOST_BLOCKS", "SIZE|N%",
           "part of it for pinned memory that the program allocates itself (auto: half)", ""},
          {"file-memory", "TESSERA_FILE_MEMORY", "SIZE",
           "size of the spill file (auto: none, or half the free space in --file-dir, at most 256 GiB)", ""},
          {"file-dir", "TESSERA_FILE_DIR", "DIR[:DIR...]", "directories for the spill files", ""},
          {"file-write-budget", "TESSERA_FILE_WRITE_BUDGET", "SIZE",
           "total bytes that may be written to the spill files (auto: no limit)", ""},
          {"node", "TESSERA_NODE", "NAME",
           "ledger in which programs share the machine's memory; off: share nothing (default)", ""},
          {"node-host-memory", "TESSERA_NODE_HOST_MEMORY", "SIZE|N%",
           "pinned host memory of all programs together (auto: half of the RAM available to the first)", ""},
          {"node-file-memory", "TESSERA_NODE_FILE_MEMORY", "SIZE",
           "spill files of all programs together (auto: half the free space in --file-dir, at most 256 GiB)", ""},
          {"node-file-write-budget", "TESSERA_NODE_FILE_WRITE_BUDGET", "SIZE",
           "total bytes that all programs together may write to them (auto: no limit)", ""},
          {"node-weight", "TESSERA_NODE_WEIGHT", "N", "weight of this program's share (100)", ""},
          {"node-job", "TESSERA_NODE_JOB", "NAME", "job whose programs share as one (auto: the launcher's; off)", ""},
          {"share", "TESSERA_SHARE", "HOW",
           "share device memory with programs of the ledger: auto (if one is there), on or off (auto)", ""},
          {"time-slice", "TESSERA_TIME_SLICE", "MILLISECONDS",
           "time for which a program keeps a shared device that is too small for all (2000)", ""},
          {"policy", "TESSERA_POLICY", "NAME", "policy: auto, recency, lru, belady, capuchin, delta or mpress (auto)",
           ""},
          {"fingerprints", "TESSERA_FINGERPRINTS", "on|off",
           "detect unchanged pages and evict them without a copy (on)", ""},
          {"heap-size", "TESSERA_HEAP_SIZE", "SIZE", "addresses to reserve per device (auto: ample; costs no memory)",
           ""},
          {"grace", "TESSERA_GRACE", "LAUNCHES",
           "launches on its stream for which a block stays after its last use, if others can be evicted (2)", ""},
          {"patience", "TESSERA_PATIENCE", "MILLISECONDS",
           "wait for queued work without progress, before blocks are evicted while it is queued (2000)", ""},
          {"low-watermark", "TESSERA_LOW_WATERMARK", "PERCENT",
           "percent of memory: if less is free, cold blocks are evicted ahead of need (0)", ""},
          {"high-watermark", "TESSERA_HIGH_WATERMARK", "PERCENT",
           "percent of memory: eviction ahead of need stops when this much is free (12)", ""},
          {"report-memory", "TESSERA_REPORT_MEMORY", "device|virtual",
           "what cuMemGetInfo reports: device (the real device) or virtual (the whole heap)", ""},
          {"unhinted-access", "TESSERA_UNHINTED_ACCESS", "off|auto|host-backed",
           "kernel access to an evicted block by an unseen address: off (faults), host-backed, or auto (for blocks "
           "that launches do not name)",
           ""},
          {"sleep-when-idle", "TESSERA_SLEEP_WHEN_IDLE", "TIME",
           "evict all blocks from the device after this time without use, as 5m (off)", ""},
          {"control-dir", "TESSERA_CONTROL_DIR", "DIR",
           "private directory of the control socket for `tessera sleep` and `wake` (one per user)", ""},
          {"torch-listeners", "TESSERA_TORCH_LISTENERS", "DIR",
           "folder of what `python -m tessera torch-listener` builds (in the user's cache)", ""},
          {"summary", "TESSERA_SUMMARY", "off|first|on",
           "print the heap's budgets at the start and what it did at the end; first: in one rank of a job (first where "
           "standard error is a terminal, else off)",
           ""},
          {"log-level", "TESSERA_LOG_LEVEL", "quiet|error|warning|info|debug", "messages on standard error (warning)",
           ""},
          {"stats", "TESSERA_STATS", "FILE", "write statistics at the end (.json for JSON, - for standard error)", ""},
          {"trace", "TESSERA_TRACE", "FILE", "record allocations and launches", ""},
          {"timeline", "TESSERA_TIMELINE", "FILE", "write a timeline for ui.perfetto.dev", ""},
          {"history", "TESSERA_HISTORY", "FILE", "write the history that `tessera report` draws", ""},
      } {}

void RunOptions::add_to(CLI::App& app) {
  for (Setting& setting : settings) {
    app.add_option(std::string("--") + setting.name, setting.value, setting.help)
        ->envname(setting.variable)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
        ->type_name(setting.value_name);
  }
  app.add_flag("--explain", explain, "record which calls keep blocks in device memory")->envname("TESSERA_EXPLAIN");
  app.add_flag("--no-control", no_control, "no control socket: invisible to `tessera top`, `sleep` and `wake`");
  app.add_flag("--no-presets", no_presets, "set nothing for frameworks (PyTorch, JAX, TensorFlow): docs/frameworks.md")
      ->envname("TESSERA_NO_PRESETS");
  app.add_option("--torch", torch,
                 "what PyTorch allocates with: async (cudaMallocAsync, by tensor), native (its own allocator, by "
                 "segment), auto (async, unless the program is known to need native) (auto)")
      ->envname("TESSERA_TORCH")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->type_name("auto|async|native");
  app.add_flag("--software", software, "use the software device instead of a GPU")->envname("TESSERA_SOFTWARE");
  app.add_option("--software-memory", software_memory, "memory of the software device (1GiB)")
      ->envname(kSoftwareMemory)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->type_name("SIZE");
}

void RunOptions::set(const std::string& name, const std::string& value) {
  for (Setting& setting : settings) {
    if (name == setting.name) setting.value = value;
  }
}

std::string RunOptions::complaint() const {
  tessera_options* options = nullptr;
  // Reads the environment too, so that an invalid variable is found before the program starts.
  if (tessera_options_create(&options) != TESSERA_OK) return tessera_last_error();
  std::string wrong;
  for (const Setting& setting : settings) {
    if (wrong.empty() && !setting.value.empty()) {
      wrong = set_in(options, setting.name, setting.value);
    }
  }
  if (wrong.empty() && tessera_options_check(options) != TESSERA_OK) {
    wrong = fmt::format("--{}", tessera_last_error());
  }
  // It has the same syntax as any size, but a device needs a definite one.
  const bool no_size = software_memory == "auto" || software_memory == "0";
  if (wrong.empty() && !software_memory.empty() &&
      (no_size || tessera_options_set(options, "heap-size", software_memory.c_str()) != TESSERA_OK)) {
    wrong = fmt::format("--software-memory: '{}' is not a size; write 96MiB or 4GiB", software_memory);
  }
  tessera_options_destroy(options);
  if (wrong.empty() && !find_choice(torch)) {
    wrong = fmt::format("--torch: '{}' is not auto, async or native", torch);
  }
  return wrong;
}

TorchChoice RunOptions::torch_choice() const { return find_choice(torch).value_or(TorchChoice::kAuto); }

bool RunOptions::is_silent() const {
  return std::ranges::any_of(settings, [](const Setting& setting) {
    return std::string_view(setting.name) == "log-level" && (setting.value == "quiet" || setting.value == "error");
  });
}

void RunOptions::apply(ChildEnvironment& environment) const {
  for (const Setting& setting : settings) {
    if (setting.value.empty()) continue;
    const bool file = is_path(setting.name) && setting.value != "-";
    environment.set(setting.variable, file ? absolute_paths(setting.name, setting.value) : setting.value);
  }
  if (no_control) {
    environment.remove(kControlFolder);
  } else if (environment.get(kControlFolder).empty()) {
    environment.set(kControlFolder, control_folders().front());
  }
  if (explain) environment.set("TESSERA_EXPLAIN", "1");
  if (!software_memory.empty()) environment.set(kSoftwareMemory, software_memory);
}

SplitLine split_at_program(const std::vector<std::string>& arguments) {
  std::size_t i = 0;
  std::size_t program = arguments.size();
  while (i < arguments.size()) {
    const std::string& word = arguments[i];
    if (word == "--" || word.empty() || word[0] != '-') {
      program = word == "--" ? i + 1 : i;
      break;
    }
    const bool alone = word == "--software" || word == "--explain" || word == "--no-control" ||
                       word == "--no-presets" || word == "--help" || word == "-h" ||
                       word.find('=') != std::string::npos;
    i += alone ? 1 : 2;
  }
  const auto at = [&](std::size_t n) {
    return arguments.begin() + static_cast<std::ptrdiff_t>(std::min(n, arguments.size()));
  };
  return {{arguments.begin(), at(i)}, {at(program), arguments.end()}};
}
