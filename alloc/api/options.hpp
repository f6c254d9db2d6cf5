// Every user option in one table: name, kind, default, effect.
//
// Names are those of the command line ("device-memory"); the environment variable follows from the name
// (TESSERA_DEVICE_MEMORY). docs/tuning.md lists all of them, and a test compares the two. The environment is read in
// options.cpp and nowhere else in the library.
//
// Thread safety: values. from_environment() must not run concurrently with setenv, like any getenv.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/launcher_rank.hpp"
#include "api/misspelt_variables.hpp"
#include "api/size_or_share.hpp"
#include "base/log.hpp"
#include "base/status.hpp"
#include "base/units.hpp"

namespace tessera {

struct Options {
  // Behaviour. An empty size means "auto": api/budgets.hpp turns it into bytes.
  std::optional<SizeOrShare> device_memory;  // a share: of the device's total memory
  std::string peer_memory;                   // as "1:16GiB,2:8GiB": device and bytes that it lends; "" for none
  std::optional<SizeOrShare> host_memory;    // a share: of the available host memory
  std::optional<SizeOrShare> host_blocks;    // a share: of host_memory
  std::optional<Bytes> file_memory;
  std::string file_dir;  // "" means auto: /var/tmp, and no file tier unless file_memory is given
  std::optional<Bytes> file_write_budget;
  std::string node = "default";                 // the name of the ledger, or "off"
  std::optional<SizeOrShare> node_host_memory;  // a share: of the available host memory
  std::optional<Bytes> node_file_memory;
  std::optional<Bytes> node_file_write_budget;
  std::uint32_t node_weight = 100;
  std::string node_job = "auto";  // a name, or "off"
  std::string share = "auto";     // device memory
  std::optional<Bytes> heap_size;
  Nanoseconds sleep_when_idle{};  // 0: never
  std::string control_dir;        // "" to disable control from outside
  std::string torch_listeners;    // the folder of them, or ""
  std::string report_memory = "device";
  std::string unhinted_access = "auto";
  bool off = false;
  // Performance.
  std::string policy = "auto";
  std::string fingerprints = "on";
  std::uint32_t grace = 2;            // launches
  std::uint32_t patience = 2000;      // milliseconds
  std::uint32_t time_slice = 2000;    // milliseconds; 0: none
  std::uint32_t low_watermark = 0;    // percent of device memory
  std::uint32_t high_watermark = 12;  // percent of device memory
  // Debugging.
  std::string stats;  // files to write at the end; "" for none, "-" for standard error
  std::string trace;
  std::string timeline;
  std::string history;
  bool explain = false;
  std::string summary = "off";
  std::string log_level = "warning";
  std::string runtime_dir;      // XDG_RUNTIME_DIR
  std::string job_of_launcher;  // api/launcher_job.hpp
  LauncherRank rank;
  // Set by `tessera run` (TESSERA_RUN): it emptied the files above when it started, so their content is from this
  // run.
  bool under_run = false;

  std::vector<MisspeltVariable> misspelt;  // variables that from_environment() found and could not use

  // The defaults, overridden by TESSERA_... . Errors: kInvalidArgument naming the variable.
  static Result<Options> from_environment();

  // Errors: kNotFound for an unknown option; kInvalidArgument with what would be accepted.
  Status set(std::string_view name, std::string_view value);
  // The value in the form that set() accepts. Errors: kNotFound.
  Result<std::string> get(std::string_view name) const;
  // Whether the values are consistent. Errors: kInvalidArgument.
  Status validate() const;

  LogLevel level() const;
};

enum class OptionSection : std::uint8_t { kBehaviour, kPerformance, kDebugging };
const char* name_of(OptionSection section);

// Where the value lives; its type is the option's kind: size, count, flag, text, size or share, duration.
using OptionField = std::variant<std::optional<Bytes> Options::*, std::uint32_t Options::*, bool Options::*,
                                 std::string Options::*, std::optional<SizeOrShare> Options::*, Nanoseconds Options::*>;

struct OptionEntry {
  const char* name;
  OptionSection section;
  OptionField field;
  const char* default_text;
  const char* choices;  // "a|b|c" where only these are accepted, else ""
  // Their sentences are also in docs/tuning.md, which a test compares.
  const char* help;
  const char* raising;  // effect of a greater (or different) value, and when not to change it
};

std::span<const OptionEntry> option_table();
// "TESSERA_DEVICE_MEMORY" for "device-memory".
std::string environment_name(const OptionEntry& entry);
// "size", "size or percent", "count", "flag", "duration", "choice" or "text".
const char* kind_of(const OptionEntry& entry);

}  // namespace tessera
