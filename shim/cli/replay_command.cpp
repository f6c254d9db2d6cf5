#include "replay_command.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "columns.hpp"
#include "rounded.hpp"
#include "tessera/replay.h"
#include "wrong_use.hpp"

namespace {

using Json = nlohmann::ordered_json;

int refuse(const std::vector<std::string>& traces) {
  const auto is_there = [](const std::string& path) { return path == "-" || ::access(path.c_str(), R_OK) == 0; };
  fmt::print(stderr, "tessera: {}{}\n", tessera_replay_last_error(),
             std::ranges::all_of(traces, is_there) ? "" : "; `tessera run --trace FILE` records a trace");
  return 1;
}

struct Destroy {
  void operator()(tessera_replay* replay) const { tessera_replay_destroy(replay); }
};

std::string time_of(const Json& json, const char* key) { return rounded_seconds(json.at(key).get<double>() / 1e9); }

std::string bytes_of(const Json& json, const char* key) { return rounded_bytes(json.at(key).get<std::uint64_t>()); }

// "8.00 ms, stalled 1.50 ms: copy_out 1.00 ms, copy_in 500 us", longest first.
std::string last_pass_of(const Json& pass) {
  double sum = 0;
  std::vector<std::pair<double, std::string>> causes;
  for (const auto& [cause, time] : pass.at("stall_ns_by_cause").items()) {
    causes.emplace_back(time.get<double>() / 1e9, cause);
    sum += causes.back().first;
  }
  std::stable_sort(causes.begin(), causes.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text = fmt::format("{}, stalled {}", time_of(pass, "ns"), rounded_seconds(sum));
  for (std::size_t i = 0; i < causes.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "{} {} {}", i == 0 ? ":" : ",", causes[i].second,
                   rounded_seconds(causes[i].first));
  }
  return text;
}

}  // namespace

bool ReplayCommandOptions::Setting::is_given() const {
  const bool chosen_here = value == "auto" && std::string_view(name).ends_with("-memory");
  return !value.empty() && !chosen_here;
}

ReplayCommandOptions::ReplayCommandOptions()
    : settings{
          {"policy", "TESSERA_POLICY", "NAME", "eviction policy; see --list-policies", ""},
          {"device-memory", "TESSERA_DEVICE_MEMORY", "SIZE",
           "memory of each device (as given in the trace, or enough for no evictions)", ""},
          {"host-memory", "TESSERA_HOST_MEMORY", "SIZE", "pinned host memory (64GiB)", ""},
          {"file-memory", "TESSERA_FILE_MEMORY", "SIZE", "size of the spill file (0)", ""},
          {"peer-memory", "TESSERA_REPLAY_PEER_MEMORY", "SIZE", "memory lent by additional devices (0)", ""},
          {"lenders", "TESSERA_REPLAY_LENDERS", "N", "number of them, in equal parts, each over a link of its own (1)",
           ""},
          {"peer-rate", "TESSERA_REPLAY_PEER_RATE", "RATE", "bandwidth to and from each, bytes per second (100e9)", ""},
          {"h2d", "TESSERA_H2D", "RATE", "bandwidth to a device, bytes per second (25e9)", ""},
          {"d2h", "TESSERA_D2H", "RATE", "bandwidth from a device, bytes per second (25e9)", ""},
          {"file-read", "TESSERA_FILE_READ", "RATE", "read bandwidth of the disk, bytes per second (6e9)", ""},
          {"file-write", "TESSERA_FILE_WRITE", "RATE", "write bandwidth of the disk, bytes per second (3e9)", ""},
          {"mapping-time", "TESSERA_MAPPING_TIME", "NS",
           "nanoseconds that the driver takes to map and unmap a page (45000, as an H200)", ""},
          {"copy-turn", "TESSERA_COPY_TURN", "NS",
           "nanoseconds that it waits at most, to map a page, for copies to the host (1000000, as an H200)", ""},
          {"frame-time", "TESSERA_FRAME_TIME", "NS",
           "nanoseconds that it takes to create and destroy a frame (20000, as an H100)", ""},
          {"launch-time", "TESSERA_LAUNCH_TIME", "NS",
           "nanoseconds of the program before each operation; 37000 for PyTorch in eager mode (0)", ""},
          {"host-frames", "TESSERA_REPLAY_HOST_FRAMES", "on|off",
           "off: host memory cannot be mapped at device addresses, and an operation that does not fit fails (on)", ""},
          {"iterations", "TESSERA_ITERATIONS", "N", "number of times to replay the trace's steps (1)", ""},
          {"unseen-work", "TESSERA_UNSEEN_WORK", "on|off",
           "fence all work before evicting a block, as if uses were read from launches (off)", ""},
          {"unhinted-access", "TESSERA_REPLAY_UNHINTED_ACCESS", "off|auto",
           "with --unseen-work: auto keeps blocks that operations do not name mapped, in host memory (auto)", ""},
          {"extents", "TESSERA_EXTENTS", "on|off",
           "off: operations name whole blocks, whatever parts of them they use (on)", ""},
          {"handles", "TESSERA_REPLAY_HANDLES", "SIZE",
           "blocks that are used in parts are mapped by the program, in handles of this size (0: allocated)", ""},
          {"timeline", "TESSERA_TIMELINE", "FILE", "write a timeline for ui.perfetto.dev", ""},
          {"seed", "TESSERA_SEED", "N", "random seed of a policy that draws, if its name has none (0)", ""},
          {"time-slice", "TESSERA_REPLAY_TIME_SLICE", "MS",
           "milliseconds for which a program keeps a shared device (2000)", ""},
          {"weights", "TESSERA_REPLAY_WEIGHTS", "LIST", "node-weight of each program on a shared device (100,100,...)",
           ""},
          {"device-limits", "TESSERA_REPLAY_DEVICE_LIMITS", "LIST",
           "device memory that each program may hold at most: 4GiB,off (off,off,...)", ""},
      } {}

void add_settings(CLI::App& app, std::vector<ReplayCommandOptions::Setting>& settings) {
  for (auto& setting : settings) {
    app.add_option(std::string("--") + setting.name, setting.value, setting.help)
        ->envname(setting.variable)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
        ->type_name(setting.value_name);
  }
}

void ReplayCommandOptions::add_to(CLI::App& app) {
  app.add_option("trace", traces, "the trace: JSON Lines, plain or zstd; with --share several")->type_name("FILE");
  add_settings(app, settings);
  app.add_flag("--share", share, "replay all traces on one device, and compare the ways to share it");
  app.add_flag("--json", json, "print one JSON object");
  app.add_flag("--list-policies", list_policies, "list name, source and summary of each policy");
}

std::string replay_table(const std::string& text) {
  const Json json = Json::parse(text);
  std::string table;
  const auto row = [&table](const char* name, const std::string& value) {
    fmt::format_to(std::back_inserter(table), "{:<16}{}\n", name, value);
  };
  row("policy", json.at("policy").get<std::string>());
  row("compute", time_of(json, "compute_ns"));
  row("lower bound", time_of(json, "lower_bound_ns"));
  row("makespan", fmt::format("{}, of which {} stalled", time_of(json, "makespan_ns"), time_of(json, "stall_ns")));
  row("last pass", last_pass_of(json.at("last_pass")));
  row("device", fmt::format("{} at most, of {}", bytes_of(json, "peak_device_bytes"), bytes_of(json, "device_memory")));
  row("liveness peak", bytes_of(json, "liveness_peak_bytes"));
  row("largest step", bytes_of(json, "largest_step_bytes"));
  row("link", fmt::format("{} in, {} out", bytes_of(json, "bytes_h2d"), bytes_of(json, "bytes_d2h")));
  if (json.at("peer_memory") != 0) {
    row("peer", fmt::format("{} in, {} out", bytes_of(json, "bytes_peer_in"), bytes_of(json, "bytes_peer_out")));
  }
  row("file",
      fmt::format("{} read, {} written", bytes_of(json, "bytes_file_read"), bytes_of(json, "bytes_file_written")));
  row("pages", fmt::format("{} evicted, {} fetched, {} of them late", json.at("evictions").get<std::uint64_t>(),
                           json.at("fetches").get<std::uint64_t>(), json.at("late_fetches").get<std::uint64_t>()));
  return table;
}

// One line for each way, one column for each program.
std::string shared_replay_table(const std::string& text) {
  const Json json = Json::parse(text);
  std::vector<std::string> names;
  for (const Json& program : json.at("programs")) names.push_back(program.at("trace").get<std::string>());
  std::vector<Column> columns{{"", 20, true}};
  for (const std::string& name : names) {
    columns.push_back({name.c_str(), static_cast<int>(std::max<std::size_t>(name.size(), 12))});
  }
  columns.push_back({"together", 12});
  columns.push_back({"throughput", 12});
  std::string table = fmt::format("{:<20}{}\n{:<20}{}\n\n", "device", bytes_of(json, "device_memory"), "policy",
                                  json.at("policy").get<std::string>()) +
                      text_header(columns);
  Cells peak{"liveness peak"}, alone{"alone"};
  for (const Json& program : json.at("programs")) {
    peak.push_back(bytes_of(program, "liveness_peak_bytes"));
    alone.push_back(time_of(program, "alone_ns"));
  }
  for (Cells* const cells : {&peak, &alone}) {
    cells->insert(cells->end(), {"-", "-"});
    table += text_line(columns, *cells);
  }
  std::string failures;
  for (const Json& way : json.at("ways")) {
    Cells cells{way.at("way").get<std::string>()};
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Json& program = way.at("programs").at(i);
      const bool failed = program.contains("failure");
      cells.push_back(failed ? "failed" : time_of(program, "ended_ns"));
      if (failed) {
        failures += fmt::format("{}, {}: {}\n", cells.front(), names[i], program.at("failure").get<std::string>());
      }
    }
    const bool known = !way.at("ns").is_null();
    cells.push_back(known ? time_of(way, "ns") : "-");
    cells.push_back(known ? fmt::format("{:.2f}", way.at("throughput").get<double>()) : "-");
    table += text_line(columns, cells);
  }
  return table + failures;
}

std::string policy_table(const std::string& text) {
  std::string table;
  for (const Json& policy : Json::parse(text)) {
    fmt::format_to(std::back_inserter(table), "{:<16}{}: {}\n", policy.at("name").get<std::string>(),
                   policy.at("source").get<std::string>(), policy.at("summary").get<std::string>());
  }
  return table;
}

int replay_command(const ReplayCommandOptions& options) {
  if (options.list_policies) {
    const char* const policies = tessera_replay_policies();
    fmt::print("{}", options.json ? std::string(policies) + "\n" : policy_table(policies));
    return 0;
  }
  if (options.traces.empty()) {
    fmt::print(stderr, "tessera: no trace given; usage: tessera replay FILE [options]\n");
    return kWrongUse;
  }
  if (options.share != (options.traces.size() > 1)) {
    fmt::print(stderr, "tessera: {}; usage: tessera replay FILE FILE... --share [options]\n",
               options.share ? "one trace, which shares with no other" : "several traces are replayed with --share");
    return kWrongUse;
  }
  tessera_replay* made = nullptr;
  if (tessera_replay_create(&made) != TESSERA_OK) return refuse(options.traces);
  const std::unique_ptr<tessera_replay, Destroy> replay(made);
  for (const auto& setting : options.settings) {
    if (!setting.is_given()) continue;
    if (tessera_replay_set(made, setting.name, setting.value.c_str()) != TESSERA_OK) {
      fmt::print(stderr, "tessera: --{}\n", tessera_replay_last_error());
      return kWrongUse;
    }
  }
  const char* json = nullptr;
  if (!options.share) {
    if (tessera_replay_run(made, options.traces.front().c_str(), &json) != TESSERA_OK) return refuse(options.traces);
    fmt::print("{}", options.json ? std::string(json) + "\n" : replay_table(json));
    return 0;
  }
  std::vector<const char*> paths;
  for (const std::string& trace : options.traces) paths.push_back(trace.c_str());
  if (tessera_replay_run_shared(made, paths.data(), paths.size(), &json) != TESSERA_OK) return refuse(options.traces);
  fmt::print("{}", options.json ? std::string(json) + "\n" : shared_replay_table(json));
  return 0;
}
