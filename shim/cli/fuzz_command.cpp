#include "fuzz_command.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "tessera/fuzz.h"
#include "wrong_use.hpp"

namespace {

using Json = nlohmann::ordered_json;

constexpr unsigned kSeconds = 240;    // a seed takes seconds at most; a busy machine is no hang
constexpr unsigned kPartSeconds = 5;  // parts of a seed are tried often, and may hang each time
constexpr int kTries = 400;
constexpr std::uint64_t kMaxReported = 10;  // seeds that are minimised; further ones are only counted

struct Sum {
  std::uint64_t seeds = 0, failed = 0;
  std::uint64_t faults = 0, errors = 0, evictions = 0, fetches = 0, file_pages = 0, peer_pages = 0, recomputes = 0,
                unchanged = 0, exchanges = 0, policies = 0;

  void add(const Json& json) {
    faults += json.at("faults").get<std::uint64_t>();
    errors += json.at("errors").get<std::uint64_t>();
    evictions += json.at("evictions").get<std::uint64_t>();
    fetches += json.at("fetches").get<std::uint64_t>();
    file_pages += json.at("file_pages").get<std::uint64_t>();
    peer_pages += json.at("peer_pages").get<std::uint64_t>();
    recomputes += json.at("recomputes").get<std::uint64_t>();
    unchanged += json.at("unchanged").get<std::uint64_t>();
    exchanges += json.at("exchanges").get<std::uint64_t>();
    policies += json.at("policies").get<std::uint64_t>();
  }
  Json json() const {
    return {{"seeds", seeds},           {"failed", failed},         {"faults", faults},
            {"errors", errors},         {"evictions", evictions},   {"fetches", fetches},
            {"file_pages", file_pages}, {"peer_pages", peer_pages}, {"recomputes", recomputes},
            {"unchanged", unchanged},   {"exchanges", exchanges},   {"policies", policies}};
  }
};

FuzzOutcome run_seed(std::uint64_t seed, std::uint32_t operations, const std::string& kept, unsigned seconds) {
  return in_child(
      [&] {
        const char* json = nullptr;
        const tessera_result result = tessera_fuzz_run(seed, operations, kept.c_str(), &json);
        if (result == TESSERA_OK) return std::string(json);
        return Json{{"passed", false}, {"failure", tessera_fuzz_last_error()}}.dump();
      },
      seconds);
}

// The report on a seed that failed.
Json report(std::uint64_t seed, const FuzzOptions& options, const FuzzOutcome& first) {
  std::string kept = options.keep;
  FuzzOutcome last = first;
  if (kept.empty()) {
    std::vector<std::uint32_t> all(options.operations);
    std::iota(all.begin(), all.end(), 0U);
    const auto fails = [&](const std::vector<std::uint32_t>& part) {
      return !run_seed(seed, options.operations, kept_text(part), kPartSeconds).passed;
    };
    kept = kept_text(minimise(std::move(all), kTries, fails));
    last = run_seed(seed, options.operations, kept, kPartSeconds);
  }
  Json json{
      {"seed", seed},
      {"failure", last.failure},
      {"first_failure", first.failure},
      {"replay", fmt::format("tessera fuzz --seeds {} --operations {} --keep {}", seed, options.operations, kept)}};
  if (!last.json.empty()) {
    const Json told = Json::parse(last.json);
    for (const char* const key : {"machine", "list"}) {
      if (told.contains(key)) json[key] = told.at(key);
    }
  }
  return json;
}

void print_failure(const Json& json) {
  fmt::print("seed {} failed: {}\n  {}\n", json.at("seed").get<std::uint64_t>(), json.at("failure").get<std::string>(),
             json.at("replay").get<std::string>());
  if (json.contains("machine")) fmt::print("  {}\n", json.at("machine").get<std::string>());
  if (!json.contains("list")) return;
  for (const Json& line : json.at("list")) fmt::print("    {}\n", line.get<std::string>());
}

}  // namespace

void FuzzOptions::add_to(CLI::App& app) {
  app.add_option("--seeds", seeds, "seeds of the programs: A..B, or one (1..100)")->type_name("SEEDS");
  app.add_option("--operations", operations, "number of operations of each program (150)")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--keep", keep, "run only these operations: 0-4,7")->type_name("LIST");
  app.add_flag("--json", json, "print one JSON object");
}

bool parse_seeds(const std::string& text, std::uint64_t& first, std::uint64_t& last) {
  const std::size_t dots = text.find("..");
  const std::string words[] = {text.substr(0, dots), dots == text.npos ? text : text.substr(dots + 2)};
  std::uint64_t* const numbers[] = {&first, &last};
  for (int i = 0; i < 2; ++i) {
    const std::string& word = words[i];
    if (word.empty() || word.size() > 18 ||
        !std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      return false;
    }
    *numbers[i] = std::stoull(word);
  }
  return first <= last;
}

int fuzz_command(const FuzzOptions& options) {
  std::uint64_t first = 0, last = 0;
  if (!parse_seeds(options.seeds, first, last)) {
    fmt::print(stderr, "tessera: --seeds: '{}' is not a range A..B\n", options.seeds);
    return kWrongUse;
  }
  Sum sum;
  Json failures = Json::array();
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const FuzzOutcome outcome = run_seed(seed, options.operations, options.keep, kSeconds);
    ++sum.seeds;
    const Json told = outcome.json.empty() ? Json() : Json::parse(outcome.json);
    if (told.contains("digest")) sum.add(told);
    if (outcome.passed) continue;
    ++sum.failed;
    if (sum.failed > kMaxReported) continue;
    // Printed at once: minimising takes minutes if the seed hangs, and the user may interrupt it.
    fmt::print(stderr, "tessera: seed {} failed: {}\n", seed, outcome.failure);
    failures.push_back(report(seed, options, outcome));
    if (!options.json) print_failure(failures.back());
  }
  Json json = sum.json();
  json["failures"] = std::move(failures);
  if (options.json) {
    fmt::print("{}\n", json.dump());
  } else {
    fmt::print(
        "{} seeds, {} failed; {} faults, {} errors returned; {} pages evicted and {} fetched, {} "
        "through the file, {} from a peer; {} blocks recomputed, {} pages unchanged, {} exchanged; {} policies set\n",
        sum.seeds, sum.failed, sum.faults, sum.errors, sum.evictions, sum.fetches, sum.file_pages, sum.peer_pages,
        sum.recomputes, sum.unchanged, sum.exchanges, sum.policies);
  }
  return sum.failed == 0 ? 0 : 1;
}
