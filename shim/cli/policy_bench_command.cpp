#include "policy_bench_command.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <thread>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "child_pool.hpp"
#include "policy_bench_costs.hpp"
#include "policy_bench_page.hpp"
#include "policy_bench_row.hpp"
#include "policy_bench_text.hpp"
#include "tessera/replay.h"
#include "wrong_use.hpp"

namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::pair<std::string, std::string>>;  // option names and values

constexpr std::uint64_t kPage = 2 << 20;
constexpr std::chrono::seconds kWriteEvery{10};

// Replays one trace with these options. Returns the library's JSON, or {"failure":…}.
std::string played(const std::string& path, const Words& words) {
  struct Destroy {
    void operator()(tessera_replay* replay) const { tessera_replay_destroy(replay); }
  };
  const auto failed = [] {
    return Json{{"failure", tessera_replay_last_error()}}.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  tessera_replay* made = nullptr;
  if (tessera_replay_create(&made) != TESSERA_OK) return failed();
  const std::unique_ptr<tessera_replay, Destroy> replay(made);
  for (const auto& [name, value] : words) {
    if (tessera_replay_set(made, name.c_str(), value.c_str()) != TESSERA_OK) return failed();
  }
  const char* json = nullptr;
  if (tessera_replay_run(made, path.c_str(), &json) != TESSERA_OK) return failed();
  return json;
}

// "a/gpt2.jsonl.zst" becomes gpt2.
std::string name_of(const std::string& path) {
  std::filesystem::path name = std::filesystem::path(path).filename();
  for (const char* const extension : {".zst", ".jsonl", ".json"}) {
    if (name.extension() == extension) name = name.stem();
  }
  return name.string();
}

std::vector<std::string> all_policies() {
  std::vector<std::string> names;
  for (const Json& policy : Json::parse(tessera_replay_policies())) names.push_back(policy.at("name"));
  return names;
}

class PolicyBenchRun {
 public:
  explicit PolicyBenchRun(const PolicyBenchOptions& options)
      : options_(options),
        jobs_(options.jobs > 0 ? options.jobs : std::max(1, static_cast<int>(std::thread::hardware_concurrency()))) {
    policy_bench_.iterations = options.iterations;
    policy_bench_.budgets = options.budgets;
    std::ranges::sort(policy_bench_.budgets, std::greater());
    policy_bench_.budgets.erase(std::unique(policy_bench_.budgets.begin(), policy_bench_.budgets.end()),
                                policy_bench_.budgets.end());
    for (const std::string& path : options.traces) {
      policy_bench_.traces.emplace_back().name = name_of(path);
    }
    for (const std::string& name : options.policies) {
      for (const std::string& each : name == "all" ? all_policies() : std::vector{name}) {
        if (std::ranges::find(policy_bench_.policies, each) == policy_bench_.policies.end()) {
          policy_bench_.policies.push_back(each);
        }
      }
    }
    for (const auto& setting : options.settings) {
      if (setting.is_given()) settings_.emplace_back(setting.name, setting.value);
    }
    policy_bench_.settings = settings_;
    settings_.emplace_back("host-frames", "off");  // no policy decides what is used there
    for (const auto& [name, percent] :
         {std::pair("host-budget", options.host_budget), std::pair("peer-budget", options.peer_budget)}) {
      if (percent > 0) policy_bench_.settings.emplace_back(name, fmt::format("{} %", percent));
    }
  }

  // False, with one line on standard error, if an option is invalid.
  bool check() const {
    Words words = settings_;
    for (const std::string& policy : policy_bench_.policies) words.emplace_back("policy", policy);
    tessera_replay* replay = nullptr;
    bool well = tessera_replay_create(&replay) == TESSERA_OK;
    for (const auto& [name, value] : words) {
      well = well && tessera_replay_set(replay, name.c_str(), value.c_str()) == TESSERA_OK;
    }
    tessera_replay_destroy(replay);
    if (!well) fmt::print(stderr, "tessera: --{}\n", tessera_replay_last_error());
    std::map<std::string, int> names;
    for (const PolicyBenchTrace& trace : policy_bench_.traces) {
      if (++names[trace.name] < 2) continue;
      fmt::print(stderr, "tessera: two traces have the name {}\n", trace.name);
      return false;
    }
    return well;
  }

  void measure_traces() {
    const auto work = [&](std::size_t i) {
      return played(options_.traces[i], {{"device-memory", "16TiB"}, {"host-memory", "0"}});
    };
    in_children(policy_bench_.traces.size(), work,
                [&](std::size_t i, const ChildAnswer& answer) { read_trace_figures(answer, policy_bench_.traces[i]); });
  }
  // Calls `ended` after each row.
  void replay_rows(const std::function<void()>& ended) {
    for (std::size_t trace = 0; trace < policy_bench_.traces.size(); ++trace) {
      for (std::size_t policy = 0; policy < policy_bench_.policies.size(); ++policy) {
        for (std::size_t budget = 0; budget < policy_bench_.budgets.size(); ++budget) {
          policy_bench_.rows.push_back({.trace = trace,
                                        .policy = policy,
                                        .budget = budget,
                                        .device_memory = share_of(trace, policy_bench_.budgets[budget]),
                                        .failure = "not replayed"});
        }
      }
    }
    in_children(
        policy_bench_.rows.size(), [&](std::size_t i) { return play_row(i); },
        [&](std::size_t i, const ChildAnswer& answer) {
          read_row_figures(answer, policy_bench_.rows[i]);
          read_call_times(answer, policy_bench_);
          ended();
        });
  }
  const PolicyBench& bench() const { return policy_bench_; }

 private:
  void in_children(std::size_t count, const std::function<std::string(std::size_t)>& work,
                   const std::function<void(std::size_t, const ChildAnswer&)>& ended) const {
    const bool watched = isatty(STDERR_FILENO) == 1;
    const ChildLimits limits{.cpu_seconds = options_.cpu_seconds};
    std::size_t done = 0;
    run_in_children(count, jobs_, limits, work, [&](std::size_t number, const ChildAnswer& answer) {
      ended(number, answer);
      ++done;
      if (watched) fmt::print(stderr, "\r{} of {}{}", done, count, done == count ? "\n" : "");
    });
  }
  // Rounded up to whole pages, because a part of a page is useless.
  std::uint64_t share_of(std::size_t trace, std::uint32_t percent) const {
    return (policy_bench_.traces[trace].liveness_peak * percent / 100 + kPage - 1) / kPage * kPage;
  }
  std::string play_row(std::size_t number) const {
    const PolicyBenchRow& row = policy_bench_.rows[number];
    const PolicyBenchTrace& trace = policy_bench_.traces[row.trace];
    if (!trace.failure.empty()) return Json{{"failure", trace.failure}}.dump();
    Words words = settings_;
    words.emplace_back("policy", policy_bench_.policies[row.policy]);
    words.emplace_back("device-memory", std::to_string(row.device_memory));
    words.emplace_back("iterations", std::to_string(policy_bench_.iterations));
    if (options_.host_budget > 0) {
      words.emplace_back("host-memory", std::to_string(share_of(row.trace, options_.host_budget)));
    }
    if (options_.peer_budget > 0) {
      words.emplace_back("peer-memory", std::to_string(share_of(row.trace, options_.peer_budget)));
    }
    return played(options_.traces[row.trace], words);
  }

  const PolicyBenchOptions& options_;
  const int jobs_;
  Words settings_;
  PolicyBench policy_bench_;
};

bool write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file.fail()) return true;
  fmt::print(stderr, "tessera: cannot write {}\n", path.string());
  return false;
}

}  // namespace

PolicyBenchOptions::PolicyBenchOptions() {
  for (auto& setting : ReplayCommandOptions().settings) {
    const std::string name = setting.name;
    const bool is_rate = name.starts_with("file-") || name == "peer-rate" || name == "h2d" || name == "d2h";
    const bool is_time = name == "mapping-time" || name == "copy-turn" || name == "frame-time" || name == "launch-time";
    if (name.ends_with("-memory") ? name != "device-memory" : is_rate || is_time || name == "unseen-work") {
      settings.push_back(setting);
    }
  }
}

void PolicyBenchOptions::add_to(CLI::App& app) {
  app.add_option("traces", traces, "traces: JSON Lines, plain or zstd")->type_name("FILE")->required();
  app.add_option("--budgets", budgets, "device memory, in percent of the liveness peak (90,70,50,35)")
      ->delimiter(',')
      ->check(CLI::Range(1, 400))
      ->type_name("LIST");
  app.add_option("--policies", policies, "names, or all (all)")->delimiter(',')->type_name("LIST");
  app.add_option("--iterations", iterations,
                 "passes over each trace: times are the mean of the last two, bytes those of the last (6)")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--host-budget", host_budget, "pinned host memory, in percent of the liveness peak")
      ->check(CLI::Range(1, 10'000));
  app.add_option("--peer-budget", peer_budget, "memory lent by one additional device, in percent of the liveness peak")
      ->check(CLI::Range(1, 10'000));
  app.add_option("--jobs", jobs, "parallel replays (one per processor)")->check(CLI::Range(1, 1024));
  app.add_option("--cpu-seconds", cpu_seconds, "limit on the processor time of one replay (120)")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--out", out, "folder for policy_bench.json, .csv and .html, and policy_bench_costs.csv (.)")
      ->type_name("DIR");
  add_settings(app, settings);
}

int policy_bench_command(const PolicyBenchOptions& options) {
  PolicyBenchRun run(options);
  if (!run.check()) return kWrongUse;
  std::error_code problem;
  const std::filesystem::path folder(options.out);
  std::filesystem::create_directories(folder, problem);
  if (problem) {
    fmt::print(stderr, "tessera: --out: {}: {}\n", options.out, problem.message());
    return kWrongUse;
  }
  const auto write = [&] {
    return write_file(folder / "policy_bench.json", policy_bench_json(run.bench())) &&
           write_file(folder / "policy_bench.csv", policy_bench_csv(run.bench())) &&
           write_file(folder / "policy_bench.html", policy_bench_page(run.bench())) &&
           write_file(folder / "policy_bench_costs.csv", policy_bench_costs_csv(run.bench()));
  };
  run.measure_traces();
  // What has been replayed is not lost if the rest is interrupted.
  auto next_write = std::chrono::steady_clock::now() + kWriteEvery;
  bool written = true;
  run.replay_rows([&] {
    if (!written || std::chrono::steady_clock::now() < next_write) return;
    written = write();
    next_write = std::chrono::steady_clock::now() + kWriteEvery;
  });
  fmt::print("{}{}", policy_bench_table(run.bench()), policy_bench_costs_table(run.bench()));
  written = write();
  const bool played_any = std::ranges::any_of(run.bench().rows, &PolicyBenchRow::well);
  if (!played_any) fmt::print(stderr, "tessera: no trace could be replayed\n");
  return written && played_any ? 0 : 1;
}
