#include "api/options.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

#include "api/budgets.hpp"
#include "base/size_text.hpp"
#include "policy/policy.hpp"
#include "residency/stream_table.hpp"

namespace tessera {
namespace {

using enum OptionSection;

constexpr std::uint32_t kMostPatience = 600'000;

constexpr OptionEntry kTable[] = {
    {"device-memory", kBehaviour, &Options::device_memory, "auto", "",
     "Device memory that the heap may fill, per device, as a size or in percent of what the device has; auto is all that is "
     "free but for what a context takes.",
     "More means fewer moves. Where the driver is out of memory for contexts, code or the program's own calls, the heap "
     "gives way. Leave room for other programs."},
    {"peer-memory", kBehaviour, &Options::peer_memory, "", "",
     "Memory that devices lend to all others, as 1:16GiB, several with ',' between; empty is none.",
     "What leaves a device goes there first, over the devices' own links. The lender's heap is smaller by it, and "
     "it borrows nothing itself. For devices that would be idle, or have less to do."},
    {"host-memory", kBehaviour, &Options::host_memory, "auto", "",
     "Pinned host memory for what does not fit on the device, as a size or in percent of the RAM that is available; auto is "
     "a quarter of that.",
     "More keeps moves off the disk. Pinned memory is taken from everyone on the machine. 0 leaves "
     "only a staging reserve for each device."},
    {"file-memory", kBehaviour, &Options::file_memory, "auto", "",
     "Size of the spill file for what fits in neither; auto is 0, or with file-dir half of the free "
     "space, at most 256 GiB.",
     "More makes the heap larger; bytes that reach the file move at the speed of the disk."},
    {"file-dir", kBehaviour, &Options::file_dir, "", "",
     "Directory for the spill file, which has no name and vanishes with the process; empty is "
     "/var/tmp. Several with ':' between: a file in each, all used at once. A ':' of a name is written '\\:'.",
     "Choose a fast local disk, or several; on tmpfs the file would be memory again."},
    {"file-write-budget", kBehaviour, &Options::file_write_budget, "auto", "",
     "Bytes that may be written to the spill files in all; auto is no limit.",
     "For disks that wear out. When it is used, one line says so and nothing more is spilled: host "
     "memory must do, or memory runs out."},
    {"heap-size", kBehaviour, &Options::heap_size, "auto", "",
     "Addresses reserved per device; auto is ample for all tiers together.",
     "Costs addresses, not memory. Only for drivers that refuse the reservation."},
    {"report-memory", kBehaviour, &Options::report_memory, "device", "device|virtual",
     "What a program is told of total and free memory: device is the truth, virtual the whole heap, as "
     "if host memory and file were part of it.",
     "virtual is for frameworks that size themselves by it and would else leave the heap unused."},
    {"unhinted-access", kBehaviour, &Options::unhinted_access, "off", "off|auto|host-backed",
     "What a kernel finds that uses a block which has left and whose address nobody could see: off is "
     "a fault, host-backed the block, in host memory at the same address.",
     "host-backed is slower: nothing of the program runs while blocks change places, and there is no "
     "file. auto takes it where the machine has it and no file is asked for."},
    {"control-dir", kBehaviour, &Options::control_dir, "", "",
     "Private folder of the socket by which `tessera sleep` and `tessera wake` of the same user reach "
     "the program; empty is none, and `tessera top` does not see it either.",
     "`tessera run` sets it. Without somebody looking it costs a thread that sleeps."},
    {"off", kBehaviour, &Options::off, "false", "",
     "Leaves the program alone: every call goes to the CUDA driver.",
     "For finding out whether Tessera is the cause of something."},
    {"policy", kPerformance, &Options::policy, "auto", "",
     "Who leaves device memory, and when: auto learns the iteration and follows what does best in its "
     "rehearsal; recency weighs cost and guards against thrashing.",
     "auto takes seconds of one processor once a program repeats itself. The others of tessera replay "
     "--list-policies are there to compare with."},
    {"fingerprints", kPerformance, &Options::fingerprints, "on", "on|off",
     "Whether pages are asked, on the device, if they have changed since their last copy, so that those "
     "that have not leave for nothing.",
     "on costs what reading the page takes, where that is likely to be less than the copy that it may save. "
     "off is for comparing, and for devices whose memory bandwidth has nothing to spare."},
    {"grace", kPerformance, &Options::grace, "2", "",
     "Launches on the same stream for which a block stays in device memory after its last use, while other blocks can "
     "leave; at most 16.",
     "A kernel can write a block's address into memory for the kernels right behind it, where no launch shows it. More is "
     "safer for such programs and delays every eviction. 0 is for programs that announce every use."},
    {"patience", kPerformance, &Options::patience, "2000", "",
     "Milliseconds for which the program is kept waiting for queued work of which nothing ends, before blocks leave beside "
     "it: kernels may wait for the program itself, as collectives do. At most 600000.",
     "Less lets a program with such kernels go on sooner. More is for programs whose single kernels run longer, and use "
     "blocks that no launch shows: such a kernel faults where its block has left. After thirty times as long with nothing "
     "that could leave, it is out of memory."},
    {"low-watermark", kPerformance, &Options::low_watermark, "0", "",
     "Percent of device memory, and of host memory; when less than this is free, cold blocks start to leave "
     "ahead of need. 0: none does before the program's iteration is learned, but for a few where uses are read from "
     "launches.",
     "Higher hides more of the way out behind computation, leaves less memory to use, and sends away "
     "what would have stayed."},
    {"high-watermark", kPerformance, &Options::high_watermark, "12", "",
     "Percent of device memory, and of host memory; leaving ahead of need stops when this much is free.",
     "Higher moves more at a time. Must be above low-watermark."},
    {"stats", kDebugging, &Options::stats, "", "",
     "File for the statistics at the end of the program: JSON if it ends in .json, else a table; - "
     "is standard error.",
     "Written once, costs nothing before."},
    {"trace", kDebugging, &Options::trace, "", "",
     "File for a trace of allocations, launches and marks (JSON Lines), for replay.",
     "A line per call: some microseconds each."},
    {"timeline", kDebugging, &Options::timeline, "", "",
     "File for a timeline of moves and stalls that ui.perfetto.dev opens.",
     "Written at the end from a bounded log of the last events."},
    {"history", kDebugging, &Options::history, "", "",
     "File for what happened over the whole run, which tessera report draws.",
     "Sums over at most 512 slots of time, of any length of run; a lock per move."},
    {"explain", kDebugging, &Options::explain, "false", "",
     "Remembers for each reason that keeps blocks in device memory where its first call came from.",
     "For finding the line of a program that exposes memory; some 100 microseconds per reason."},
    {"log-level", kDebugging, &Options::log_level, "warning", "quiet|error|warning|info|debug",
     "Which messages go to standard error.", "debug tells every move."},
};

const OptionEntry* find(std::string_view name) {
  for (const OptionEntry& entry : kTable) {
    if (name == entry.name) return &entry;
  }
  return nullptr;
}

Status no_such_option(std::string_view name) {
  return Status(Code::kNotFound, fmt::format("no option '{}'; docs/tuning.md lists them", name));
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
    return Status(Code::kInvalidArgument, fmt::format("'{}' is neither true nor false", value));
  }
  field = yes;
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
    return Status(Code::kInvalidArgument, fmt::format("'{}' is none of {}", value, choices));
  }
  field = value;
  return Status::ok();
}

std::string text_of(const std::optional<Bytes>& field) {
  return field ? size_text(*field) : std::string("auto");
}
std::string text_of(const std::optional<SizeOrShare>& field) {
  return field ? size_or_share_text(*field) : std::string("auto");
}
std::string text_of(std::uint32_t field) { return fmt::format("{}", field); }
std::string text_of(bool field) { return field ? "true" : "false"; }
std::string text_of(const std::string& field) { return field; }

}  // namespace

Status Options::set(std::string_view name, std::string_view value) {
  const OptionEntry* const entry = find(name);
  if (entry == nullptr) return no_such_option(name);
  Status stored = name == "policy" ? make_policy(value).status() : Status();
  if (stored.is_ok()) {
    stored = std::visit([&](auto field) { return store(this->*field, value, entry->choices); },
                        entry->field);
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
                  fmt::format("low-watermark ({}) must be below high-watermark ({}), and that at "
                              "most 50 percent",
                              low_watermark, high_watermark));
  }
  if (grace > StreamTable::kMostGrace) {
    return Status(Code::kInvalidArgument, fmt::format("grace ({}) must be at most {}", grace, StreamTable::kMostGrace));
  }
  if (patience == 0 || patience > kMostPatience) {
    return Status(Code::kInvalidArgument, fmt::format("patience ({}) must be 1 to {}", patience, kMostPatience));
  }
  const bool file = !file_dir.empty() || file_memory.value_or(Bytes()) != Bytes();
  if (unhinted_access == "host-backed" && file) {
    return Status(Code::kInvalidArgument,
                  "unhinted-access host-backed keeps all bytes in memory: file-memory must be 0, and "
                  "file-dir empty");
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
  constexpr const char* kKinds[] = {"size", "count", "flag", "text", "size or percent"};
  return *entry.choices != '\0' ? "choice" : kKinds[entry.field.index()];
}

}  // namespace tessera
