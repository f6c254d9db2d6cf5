// What the preload library adds to a launch: the same program with and without it, in turn.
//
// A launch that the driver refuses (of no threads) passes through the whole hook, scan, look-up and
// gate, and costs the driver next to nothing, so the difference is the hook's own cost. A launch
// that is queued is shown beside it. The goal, for 16 pointers: 150 ns over the bare call.
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "program.hpp"

namespace tessera::bench {
namespace {

constexpr double kGoal = 150;  // nanoseconds

struct Cost {
  double refused = 0, queued = 0;  // nanoseconds for a launch
};

struct Row {
  int blocks = 0;
  Cost bare, hooked;
};

std::string program(int blocks, int rounds, bool preloaded) {
  const std::string lib = std::string(TESSERA_BENCH_BUILD_DIR) + "/lib";
  std::string line = "LD_LIBRARY_PATH='" + lib + "/softcuda' ";
  if (preloaded) line += "LD_PRELOAD='" + lib + "/libtessera_preload.so' ";
  line += "'" + lib + "/tessera/launch_cost' '" + lib + "/tessera/preload_kernels.so' ";
  return line + std::to_string(blocks) + " " + std::to_string(rounds);
}

Cost measure(int blocks, int rounds, bool preloaded) {
  FILE* const pipe = ::popen(program(blocks, rounds, preloaded).c_str(), "r");
  if (pipe == nullptr) std::exit(EXIT_FAILURE);
  Cost cost;
  const int read = std::fscanf(pipe, "refused %lf queued %lf", &cost.refused, &cost.queued);
  const int status = ::pclose(pipe);
  if (read != 2 || status != 0) {
    std::cerr << "launch_bench: the program that is measured failed\n";
    std::exit(EXIT_FAILURE);
  }
  return cost;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Turn by turn, so that both see the machine in the same moods.
Row compare(int blocks, bool smoke) {
  const int turns = smoke ? 1 : 5;
  std::vector<double> refused[2], queued[2];
  for (int turn = 0; turn < 2 * turns; ++turn) {
    const bool preloaded = turn % 2 != 0;
    const Cost cost = measure(blocks, smoke ? 1 : 25, preloaded);
    refused[preloaded].push_back(cost.refused);
    queued[preloaded].push_back(cost.queued);
  }
  return {blocks,
          {median(refused[0]), median(queued[0])},
          {median(refused[1]), median(queued[1])}};
}

void print_rows(const std::vector<Row>& rows) {
  std::printf("\nns for a launch with 16 pointers; goal: %.0f over the bare call\n", kGoal);
  std::printf("%12s %10s %10s %10s %14s %14s\n", "live blocks", "bare", "hooked", "over",
              "queued, bare", "queued, hooked");
  for (const Row& row : rows) {
    std::printf("%12d %10.1f %10.1f %10.1f %14.1f %14.1f\n", row.blocks, row.bare.refused,
                row.hooked.refused, row.hooked.refused - row.bare.refused, row.bare.queued,
                row.hooked.queued);
  }
}

nlohmann::ordered_json row_to_json(const Row& row) {
  return {{"live_blocks", row.blocks},
          {"bare_ns", row.bare.refused},
          {"hooked_ns", row.hooked.refused},
          {"over_ns", row.hooked.refused - row.bare.refused},
          {"goal_ns", kGoal},
          {"queued_bare_ns", row.bare.queued},
          {"queued_hooked_ns", row.hooked.queued}};
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
  return tessera::bench::run_program(argc, argv,
                                     {"What the preload library adds to a launch",
                                      "one short round: shows that it runs", TESSERA_BENCH_BUILD_DIR, ""},
                                     tessera::bench::run);
}
