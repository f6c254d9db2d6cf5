// How soon a learned iteration has a plan: the candidates of `auto` are simulated in virtual time; this is the
// wall-clock time it takes.
//
// At half of the live peak, 25 GB/s each direction. Until there is a plan the engine uses recency. Measured are the
// time until the first better candidate is reported, and the time until all candidates are simulated and the search
// near the best has ended. The goal is a better candidate within a second for 10^5 events.
#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "iterations.hpp"
#include "policy/auto_policy.hpp"
#include "program.hpp"
#include "sim/plan_simulator.hpp"

namespace tessera::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostWorkers = 4;  // threads that simulate candidates

struct Row {
  std::string program;
  std::size_t launches = 0, events = 0, workers = 0;
  double better_s = 0, all_s = 0;  // 0: no candidate is better
  std::string best{};
};

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

Row measure(std::string program, const Iteration& iteration, std::size_t workers) {
  const AutoPolicy policy;
  const Machine machine{
      .device = round_up(live_peak(iteration) / 2, kLargePage), .host = 1_TiB, .out_rate = 25e9, .in_rate = 25e9};
  Row row{std::move(program), iteration.steps.size(), events_of(iteration), workers};
  PlanSimulator all(policy, PlanSimulator::Answer::kWaits, workers);
  auto start = Clock::now();
  all.ask(iteration, machine);
  row.best = all.answer().front().strategy.name;
  row.all_s = since(start);
  PlanSimulator first(policy, PlanSimulator::Answer::kWhenReady, workers);
  start = Clock::now();
  first.ask(iteration, machine);
  while (since(start) < 2 * row.all_s + 1) {
    const std::vector<Candidate> candidates = first.answer();
    if (!candidates.empty() && !candidates.front().strategy.plan.empty()) {
      row.better_s = since(start);
      break;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return row;
}

std::optional<Results> run(bool smoke) {
  // The search near the best of a training iteration takes many seconds even for one layer.
  std::vector<std::pair<std::string, Iteration>> programs;
  if (!smoke) programs.emplace_back("training", training_iteration(24));
  programs.emplace_back("decoder", decoder_iteration(smoke ? 1 : 512));
  if (!smoke) programs.emplace_back("long decoder", decoder_iteration(1850));
  std::vector<Row> rows;
  for (const auto& [program, iteration] : programs) {
    for (std::size_t workers = 1; workers <= std::min<std::size_t>(kMostWorkers, std::thread::hardware_concurrency());
         workers *= 2) {
      rows.push_back(measure(program, iteration, workers));
    }
  }
  Results results;
  for (const Row& row : rows) {
    results.json["results"].push_back({{"program", row.program},
                                       {"launches", row.launches},
                                       {"events", row.events},
                                       {"workers", row.workers},
                                       {"first_better_s", row.better_s},
                                       {"all_done_s", row.all_s},
                                       {"best", row.best}});
  }
  results.print = [rows] {
    fmt::print("\n{:<14} {:>9} {:>9} {:>8} {:>15} {:>12}  {}\n", "program", "launches", "events", "workers",
               "first better, s", "all done, s", "best");
    for (const Row& row : rows) {
      fmt::print("{:<14} {:>9} {:>9} {:>8} {:>15.2f} {:>12.2f}  {}\n", row.program, row.launches, row.events,
                 row.workers, row.better_s, row.all_s, row.best);
    }
  };
  return results;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::run_program(argc, argv,
                                     {"Time until a learned iteration has a plan",
                                      "iterations of a few launches: a smoke test", TESSERA_BENCH_BUILD_DIR, ""},
                                     tessera::bench::run);
}
