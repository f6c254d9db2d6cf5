// What the preload library adds to a launch: the same program with and without it, in turn.
//
// A launch that the driver refuses (with zero threads) passes through the whole hook, scan, look-up and gate, and costs
// the driver next to nothing, so the difference is the cost of the hook alone. A queued launch is measured too, and the
// cost of recording a launch. The goal for 16 pointers is 120 ns over the bare call.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "program.hpp"
#include "timing.hpp"

namespace tessera::bench {
namespace {

constexpr double kGoal = 120;  // nanoseconds

std::string trace_path() {
  const std::string folder = std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : "/tmp";
  return folder + "/tessera_launch_bench." + std::to_string(::getpid()) + ".jsonl";
}

struct Cost {
  double refused = 0, queued = 0;  // nanoseconds for a launch
};

enum Way { kBare, kHooked, kRecorded, kWays };

struct Row {
  int blocks = 0;
  Cost of[kWays];

  double over() const { return of[kHooked].refused - of[kBare].refused; }
  double recording() const { return of[kRecorded].refused - of[kHooked].refused; }
};

// A trace that is discarded: the time of writing it to a disk is not part of the launch.
std::string program(int blocks, int rounds, Way way) {
  const std::string lib = TESSERA_BENCH_BUILD_DIR "/lib";
  std::string line = "LD_LIBRARY_PATH='" + lib + "/softcuda' ";
  if (way != kBare) line += "LD_PRELOAD='" + lib + "/libtessera_preload.so' ";
  if (way == kRecorded) line += "TESSERA_TRACE='" + trace_path() + "' ";
  line += "'" + lib + "/tessera/launch_cost' '" + lib + "/tessera/preload_kernels.so' ";
  return line + std::to_string(blocks) + " " + std::to_string(rounds);
}

Cost measure(int blocks, int rounds, Way way) {
  FILE* const pipe = ::popen(program(blocks, rounds, way).c_str(), "r");
  if (pipe == nullptr) std::exit(EXIT_FAILURE);
  Cost cost;
  const int read = std::fscanf(pipe, "refused %lf numbers %*f queued %lf", &cost.refused, &cost.queued);
  const int status = ::pclose(pipe);
  if (read != 2 || status != 0) {
    std::cerr << "launch_bench: the measured program failed\n";
    std::exit(EXIT_FAILURE);
  }
  return cost;
}

// In turn, so that machine noise affects all alike.
Row compare(int blocks, bool smoke) {
  const int turns = smoke ? 1 : 5;
  std::vector<double> refused[kWays], queued[kWays];
  for (int turn = 0; turn < kWays * turns; ++turn) {
    const Way way = static_cast<Way>(turn % kWays);
    const Cost cost = measure(blocks, smoke ? 1 : 25, way);
    refused[way].push_back(cost.refused);
    queued[way].push_back(cost.queued);
  }
  Row row{.blocks = blocks, .of = {}};
  for (int way = 0; way < kWays; ++way) row.of[way] = {median(refused[way]), median(queued[way])};
  std::filesystem::remove(trace_path());
  return row;
}

void print_rows(const std::vector<Row>& rows) {
  std::printf("\nns for a launch with 16 pointers; goal: %.0f over the bare call\n", kGoal);
  std::printf("%12s %10s %10s %10s %10s %14s %14s\n", "live blocks", "bare", "hooked", "over", "recording",
              "queued, bare", "queued, hooked");
  for (const Row& row : rows) {
    std::printf("%12d %10.1f %10.1f %10.1f %10.1f %14.1f %14.1f\n", row.blocks, row.of[kBare].refused,
                row.of[kHooked].refused, row.over(), row.recording(), row.of[kBare].queued, row.of[kHooked].queued);
  }
}

nlohmann::ordered_json row_to_json(const Row& row) {
  return {{"live_blocks", row.blocks},
          {"bare_ns", row.of[kBare].refused},
          {"hooked_ns", row.of[kHooked].refused},
          {"over_ns", row.over()},
          {"goal_ns", kGoal},
          {"recording_ns", row.recording()},
          {"queued_bare_ns", row.of[kBare].queued},
          {"queued_hooked_ns", row.of[kHooked].queued}};
}

std::optional<Results> run(bool smoke) {
  std::vector<Row> rows;
  for (const int blocks : {16, 1000, 100000}) {
    if (!smoke || blocks <= 1000) rows.push_back(compare(blocks, smoke));
  }
  Results results;
  for (const Row& row : rows) results.json["results"].push_back(row_to_json(row));
  results.print = [rows] { print_rows(rows); };
  return results;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::run_program(
      argc, argv,
      {"Overhead of the preload library per launch", "one short round: a smoke test", TESSERA_BENCH_BUILD_DIR, ""},
      tessera::bench::run);
}
