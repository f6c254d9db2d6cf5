#include "api/options.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>

#include <fmt/core.h>

#include "api/budgets.hpp"
#include "api/launcher_job.hpp"
#include "base/duration_text.hpp"
#include "base/nearest_word.hpp"
#include "base/size_text.hpp"
#include "node/row.hpp"
#include "policy/policy.hpp"
#include "residency/streams/stream_table.hpp"

namespace tessera {
namespace {

using enum OptionSection;

constexpr std::uint32_t kMostPatience = 600'000;
constexpr std::uint32_t kMostTimeSlice = 60'000;  // milliseconds

constexpr OptionEntry kTable[] = {
    {"device-memory", kBehaviour, &Options::device_memory, "auto", "",
     "Device memory that the heap may fill, per device, as a size or in percent of what the device has; auto is all "
     "that is free but for what a context takes.",
     "More means fewer moves. Where the driver is out of memory for contexts, code or the program's own calls, the "
     "heap gives way. Leave room for other programs."},
    {"peer-memory", kBehaviour, &Options::peer_memory, "", "",
     "Memory that devices lend to all others, as 1:16GiB, several separated by ','; empty is none.",
     "Evicted pages go there first, over the links between the devices. The lender's own heap is smaller by that "
     "amount, and a lender borrows nothing itself. Meant for devices that would be idle, or have less to do."},
    {"host-memory", kBehaviour, &Options::host_memory, "auto", "",
     "Pinned host memory for what does not fit on the device, as a size or in percent of the RAM that is available; "
     "auto is a quarter of that.",
     "More keeps moves off the disk. Pinned memory is taken from everyone on the machine. 0 leaves "
     "only a staging reserve for each device."},
    {"host-blocks", kBehaviour, &Options::host_blocks, "auto", "",
     "Part of host-memory for pinned memory that the program allocates itself, as a size or in percent of it; auto is "
     "half.",
     "More serves larger requests without a driver call, and leaves less for what does not fit on the device. 0 leaves "
     "all of them to the driver."},
    {"file-memory", kBehaviour, &Options::file_memory, "auto", "",
     "Size of the spill file for what fits in neither; auto is 0, or with file-dir half of the free space, at most "
     "256 GiB.",
     "More makes the heap larger; bytes that reach the file move at the speed of the disk."},
    {"file-dir", kBehaviour, &Options::file_dir, "", "",
     "Directory for the spill file, which has no name and is removed when the process ends; empty is /var/tmp. For "
     "several directories, separated by ':', there is one file in each; all are used at once. A ':' in a name is "
     "written '\\:'.",
     "Choose one or several fast local disks; on tmpfs the file would use memory again."},
    {"file-write-budget", kBehaviour, &Options::file_write_budget, "auto", "",
     "Total bytes that may be written to the spill files; auto is no limit.",
     "For disks with limited write endurance. When the budget is used up, one line reports it and nothing more is "
     "spilled: host memory must suffice, or memory runs out."},
    {"node", kBehaviour, &Options::node, "default", "",
     "Name of the ledger in which programs of this user share the machine's memory; off: this program shares nothing.",
     "Give the programs of one job a name of their own to share among themselves only."},
    {"node-host-memory", kBehaviour, &Options::node_host_memory, "auto", "",
     "Pinned host memory of all programs of the ledger together, as a size or in percent of the RAM that is available "
     "to the first of them; auto is half of that.",
     "The first program decides. A program with host-memory has that amount for itself and shares none."},
    {"node-file-memory", kBehaviour, &Options::node_file_memory, "auto", "",
     "Size of the spill files of all programs of the ledger together; auto is half of the free space in file-dir, at "
     "most 256 GiB, as the first program that has a file-dir finds it.",
     "The first program that has one decides. A program with file-memory has that amount for itself and shares none."},
    {"node-file-write-budget", kBehaviour, &Options::node_file_write_budget, "auto", "",
     "Total bytes that all programs of the ledger together may write to their spill files; auto is no limit.",
     "It begins anew when none of them runs any more. A program with file-write-budget has that for itself."},
    {"node-weight", kBehaviour, &Options::node_weight, "100", "",
     "This program's weight where programs want more than there is: their shares are in the ratio of their weights; at "
     "most 10000.",
     "A program with twice the weight gets twice as much. A job has the greatest weight of its programs."},
    {"node-job", kBehaviour, &Options::node_job, "auto", "",
     "Name of the job that this program is a part of: beside others, a job shares host memory and spill files as one "
     "program does, and divides its share among its own. auto is the job of Slurm, MPI (PMIx), Ray or torchrun that "
     "started the program, if one did; off: no job.",
     "Set it where another launcher starts several programs that belong together."},
    {"share", kBehaviour, &Options::share, "auto", "auto|on|off",
     "Whether device memory is shared with the other programs of the ledger: each has what it uses, idle programs give "
     "way, and what is beyond a program's share goes back to the others. auto shares where another program of the "
     "ledger is on the device; on also takes the whole device as the limit before there is one.",
     "off keeps what the program has got. Needs a ledger (`node`)."},
    {"heap-size", kBehaviour, &Options::heap_size, "auto", "",
     "Addresses reserved per device; auto is ample for all tiers together.",
     "Costs addresses, not memory. Only for drivers that refuse the reservation."},
    {"report-memory", kBehaviour, &Options::report_memory, "device", "device|virtual",
     "The total and free memory that a program sees: device is the real device, virtual the whole heap, as if host "
     "memory and file were part of it.",
     "virtual is for frameworks that size themselves by it and would otherwise leave the heap unused."},
    {"unhinted-access", kBehaviour, &Options::unhinted_access, "auto", "off|auto|host-backed",
     "What happens when a kernel uses an evicted block through an address that Tessera could not see: with off it "
     "faults, with host-backed it reads and writes the block in host memory at the same address. auto does so for "
     "blocks that launches were not seen to name, where the machine supports it (see `tessera doctor`).",
     "auto costs where such blocks leave the device: the program's work stops for that moment. host-backed does so for "
     "all blocks, is slower, and has no file."},
    {"sleep-when-idle", kBehaviour, &Options::sleep_when_idle, "off", "",
     "After this time without a launch, a copy or another use of a block, all blocks that can be evicted leave the "
     "device; off: never.",
     "Less frees the device sooner for other programs. The first launches afterwards wait for the blocks that they "
     "use, so more suits a program that pauses often."},
    {"control-dir", kBehaviour, &Options::control_dir, "", "",
     "Private folder of the socket through which `tessera sleep` and `tessera wake` of the same user reach the "
     "program; empty is none, and then `tessera top` does not see the program either.",
     "While unused it costs one sleeping thread."},
    {"torch-listeners", kBehaviour, &Options::torch_listeners, "", "",
     "Folder of what `python -m tessera torch-listener` builds, by which PyTorch's own allocator tells which part of a "
     "segment is which tensor; empty is none.",
     "Without it a launch fetches whole segments, or as much of them as fits."},
    {"off", kBehaviour, &Options::off, "false", "", "Leaves the program alone: every call goes to the CUDA driver.",
     "For finding out whether Tessera is the cause of something."},
    {"policy", kPerformance, &Options::policy, "auto", "",
     "Which blocks are evicted from device memory, and when. auto learns what a program repeats, simulates it under "
     "some twenty strategies in virtual time, on a thread beside the program (seconds of one processor for a thousand "
     "launches), and follows the fastest.",
     "Until then, and where nothing repeats, the rule decides that has done best so far, at first recency, which "
     "weighs cost and guards against thrashing; use recency on a machine without a processor to spare. lru, belady, "
     "capuchin, delta and mpress are for comparison; `tessera replay` has more."},
    {"fingerprints", kPerformance, &Options::fingerprints, "on", "on|off",
     "Whether the device checks if pages have changed since their last copy, so that unchanged pages are evicted "
     "without a copy.",
     "on costs the time to read the page, where that is likely to be less than the copy that it may save. off is for "
     "comparing, and for devices with no memory bandwidth to spare."},
    {"grace", kPerformance, &Options::grace, "2", "",
     "Number of launches on the same stream for which a block stays in device memory after its last use, while other "
     "blocks can be evicted; at most 16.",
     "A kernel can write a block's address into memory for the kernels right behind it, where no launch shows it. "
     "More is safer for such programs and delays every eviction. 0 is for programs that announce every use."},
    {"patience", kPerformance, &Options::patience, "2000", "",
     "Milliseconds for which the program waits for queued work that makes no progress, before blocks are evicted "
     "while that work is still queued: kernels may wait for the program itself, as collectives do. At most 600000.",
     "Less lets a program with such kernels continue sooner. More is for programs with single kernels that run longer "
     "and use blocks that no launch shows: such a kernel faults if its block was evicted. After thirty times this "
     "long with nothing evictable, the call is out of memory."},
    {"time-slice", kPerformance, &Options::time_slice, "2000", "",
     "Milliseconds for which a program keeps a shared device where the programs use more than it has together; 0 is "
     "none: then each keeps to its share, and fetches what does not fit into it at each launch.",
     "Longer slices move less, and keep the other programs waiting longer. At most 60000."},
    {"low-watermark", kPerformance, &Options::low_watermark, "0", "",
     "Percent of device memory, and of host memory; when less than this is free, cold blocks are evicted ahead of "
     "need. 0: no block is, before the program's iteration is learned, except for a few where uses are read from "
     "launches.",
     "Higher hides more of the eviction behind computation, leaves less memory to use, and evicts blocks that would "
     "have stayed."},
    {"high-watermark", kPerformance, &Options::high_watermark, "12", "",
     "Percent of device memory, and of host memory; eviction ahead of need stops when this much is free.",
     "Higher moves more at a time. Must be above low-watermark."},
    {"stats", kDebugging, &Options::stats, "", "",
     "File for the statistics at the end of the program: JSON if it ends in .json, else a table; - is standard error.",
     "Written once, costs nothing before."},
    {"trace", kDebugging, &Options::trace, "", "",
     "File for a trace of allocations, launches and marks (JSON Lines), for replay.",
     "A line per call: some microseconds each."},
    {"timeline", kDebugging, &Options::timeline, "", "",
     "File for a timeline of moves and stalls that ui.perfetto.dev opens.",
     "Written at the end from a bounded log of the last events."},
    {"history", kDebugging, &Options::history, "", "",
     "File for the history of the whole run, which tessera report draws.",
     "Sums over at most 512 slots of time, for a run of any length; costs a lock per move."},
    {"explain", kDebugging, &Options::explain, "false", "",
     "Records, for each reason that keeps blocks in device memory, where its first call came from.",
     "For finding the line of a program that exposes memory; some 100 microseconds per reason."},
    {"summary", kDebugging, &Options::summary, "off", "off|first|on",
     "Prints what the heap may use at the first use of each device, and at the end what it did and what may help. "
     "first: in one program of a job, rank 0 of what Slurm, MPI (PMIx), torchrun or DeepSpeed started; on: in each.",
     "Two lines on standard error. `tessera run` sets first where standard error is a terminal; off, or log-level "
     "error, leaves them out."},
    {"log-level", kDebugging, &Options::log_level, "warning", "quiet|error|warning|info|debug",
     "Which messages go to standard error.", "debug logs every move."},
};

const OptionEntry* find(std::string_view name) {
  for (const OptionEntry& entry : kTable) {
    if (name == entry.name) return &entry;
  }
  return nullptr;
}

Status no_such_option(std::string_view name) {
  std::vector<std::string_view> names;
  for (const OptionEntry& entry : kTable) names.push_back(entry.name);
  const std::string_view nearest = nearest_word(name, names);
  const std::string meant = nearest.empty() ? "" : fmt::format("did you mean {}? ", nearest);
  return Status(Code::kNotFound, fmt::format("unknown option '{}'; {}`tessera run --help` lists them", name, meant));
}

Status store(std::optional<Bytes>& field, std::string_view value, std::string_view) {
  if (value == "auto") {
    field.reset();
    return Status::ok();
  }
  TESSERA_TRY_ASSIGN(field, parse_size(value));
  return Status::ok();
}

Status store(std::optional<SizeOrShare>& field, std::string_view value, std::string_view) {
  if (value == "auto") {
    field.reset();
    return Status::ok();
  }
  TESSERA_TRY_ASSIGN(field, parse_size_or_share(value));
  return Status::ok();
}

Status store(std::uint32_t& field, std::string_view value, std::string_view) {
  std::uint32_t number = 0;
  const char* const end = value.data() + value.size();
  const auto parsed = std::from_chars(value.data(), end, number);
  if (parsed.ec != std::errc{} || parsed.ptr != end) {
    return Status(Code::kInvalidArgument, fmt::format("'{}' is not a whole number", value));
  }
  field = number;
  return Status::ok();
}

Status store(bool& field, std::string_view value, std::string_view) {
  const bool yes = value == "1" || value == "true" || value == "yes" || value == "on";
  const bool no = value == "0" || value == "false" || value == "no" || value == "off";
  if (!yes && !no) {
    return Status(Code::kInvalidArgument, fmt::format("'{}' is not a boolean (true or false)", value));
  }
  field = yes;
  return Status::ok();
}

Status store(Nanoseconds& field, std::string_view value, std::string_view) {
  TESSERA_TRY_ASSIGN(field, parse_duration(value));
  return Status::ok();
}

Status store(std::string& field, std::string_view value, std::string_view choices) {
  bool taken = choices.empty();
  for (std::string_view rest = choices; !taken && !rest.empty();) {
    const std::size_t length = std::min(rest.find('|'), rest.size());
    taken = rest.substr(0, length) == value;
    rest.remove_prefix(std::min(length + 1, rest.size()));
  }
  if (!taken) {
    return Status(Code::kInvalidArgument, fmt::format("'{}' is not one of {}", value, choices));
  }
  field = value;
  return Status::ok();
}

std::string text_of(const std::optional<Bytes>& field) { return field ? size_text(*field) : std::string("auto"); }
std::string text_of(const std::optional<SizeOrShare>& field) {
  return field ? size_or_share_text(*field) : std::string("auto");
}
std::string text_of(std::uint32_t field) { return fmt::format("{}", field); }
std::string text_of(bool field) { return field ? "true" : "false"; }
std::string text_of(Nanoseconds field) { return duration_text(field); }
std::string text_of(const std::string& field) { return field; }

}  // namespace

Status Options::set(std::string_view name, std::string_view value) {
  const OptionEntry* const entry = find(name);
  if (entry == nullptr) return no_such_option(name);
  Status stored = name == "policy" ? make_policy(value).status() : Status();
  if (stored.is_ok()) {
    stored = std::visit([&](auto field) { return store(this->*field, value, entry->choices); }, entry->field);
  }
  if (stored.is_ok()) return stored;
  return Status(stored.code(), fmt::format("{}: {}", name, stored.message()));
}

Result<std::string> Options::get(std::string_view name) const {
  const OptionEntry* const entry = find(name);
  if (entry == nullptr) return no_such_option(name);
  return std::visit([&](auto field) { return text_of(this->*field); }, entry->field);
}

Result<Options> Options::from_environment() {
  Options options;
  options.under_run = std::getenv("TESSERA_RUN") != nullptr;
  if (const char* const runtime = std::getenv("XDG_RUNTIME_DIR")) options.runtime_dir = runtime;
  const auto variable_of = [](const char* name) -> std::string_view {
    const char* const value = std::getenv(name);
    return value == nullptr ? std::string_view() : value;
  };
  options.job_of_launcher = launcher_job(variable_of);
  options.rank = launcher_rank(variable_of);
  for (const OptionEntry& entry : kTable) {
    const std::string variable = environment_name(entry);
    const char* const value = std::getenv(variable.c_str());
    if (value == nullptr || *value == '\0') continue;
    const Status set = options.set(entry.name, value);
    if (!set.is_ok()) return Status(set.code(), fmt::format("{}: {}", variable, set.message()));
  }
  TESSERA_TRY(options.validate());
  options.misspelt = misspelt_variables(environ);
  return options;
}

Status Options::validate() const {
  if (low_watermark >= high_watermark || high_watermark > 50) {
    return Status(Code::kInvalidArgument,
                  fmt::format("low-watermark ({}) must be below high-watermark ({}), which must be at "
                              "most 50 percent",
                              low_watermark, high_watermark));
  }
  if (grace > StreamTable::kMostGrace) {
    return Status(Code::kInvalidArgument, fmt::format("grace ({}) must be at most {}", grace, StreamTable::kMostGrace));
  }
  if (patience == 0 || patience > kMostPatience) {
    return Status(Code::kInvalidArgument, fmt::format("patience ({}) must be 1 to {}", patience, kMostPatience));
  }
  if (time_slice > kMostTimeSlice) {
    return Status(Code::kInvalidArgument,
                  fmt::format("time-slice ({}) must be at most {}", time_slice, kMostTimeSlice));
  }
  if (node_job.empty()) return Status(Code::kInvalidArgument, "node-job must be a name, auto or off");
  if (node_weight == 0 || node_weight > kMostWeight) {
    return Status(Code::kInvalidArgument, fmt::format("node-weight ({}) must be 1 to {}", node_weight, kMostWeight));
  }
  const bool file = !file_dir.empty() || file_memory.value_or(node_file_memory.value_or(Bytes())) != Bytes();
  if (unhinted_access == "host-backed" && file) {
    return Status(Code::kInvalidArgument,
                  "unhinted-access host-backed keeps all bytes in memory: file-memory must be 0 and "
                  "file-dir must be empty");
  }
  if (unhinted_access == "host-backed" && !peer_memory.empty()) {
    return Status(Code::kInvalidArgument,
                  "unhinted-access host-backed keeps all bytes in device and host memory: peer-memory must be empty");
  }
  TESSERA_TRY(peer_loans(*this).status());
  if (device_memory == SizeOrShare()) {
    return Status(Code::kInvalidArgument, "device-memory must not be 0");
  }
  return Status::ok();
}

LogLevel Options::level() const {
  if (log_level == "quiet") return LogLevel::kQuiet;
  if (log_level == "error") return LogLevel::kError;
  if (log_level == "info") return LogLevel::kInfo;
  if (log_level == "debug") return LogLevel::kDebug;
  return LogLevel::kWarning;
}

std::span<const OptionEntry> option_table() { return kTable; }

const char* name_of(OptionSection section) {
  constexpr const char* kNames[] = {"behaviour", "performance", "debugging"};
  return kNames[static_cast<std::size_t>(section)];
}

std::string environment_name(const OptionEntry& entry) {
  std::string name = "TESSERA_";
  for (const char* c = entry.name; *c != '\0'; ++c) {
    name += *c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(*c)));
  }
  return name;
}

const char* kind_of(const OptionEntry& entry) {
  constexpr const char* kKinds[] = {"size", "count", "flag", "text", "size or percent", "duration"};
  return *entry.choices != '\0' ? "choice" : kKinds[entry.field.index()];
}

}  // namespace tessera
