// `tessera policy-bench TRACES...`: every policy on every trace under every budget, each replay in its own process.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "replay_command.hpp"

struct PolicyBenchOptions {
  PolicyBenchOptions();
  void add_to(CLI::App& app);

  std::vector<std::string> traces;
  std::vector<std::uint32_t> budgets = {90, 70, 50, 35};  // percent of the liveness peak
  std::vector<std::string> policies = {"all"};
  std::uint32_t host_budget = 0;  // percent of the liveness peak; 0: from the settings
  std::uint32_t peer_budget = 0;  // percent of the liveness peak; 0: from the settings
  std::uint32_t iterations = 6;
  int jobs = 0;  // 0: the number of processors
  std::uint32_t cpu_seconds = 120;
  std::string out = ".";
  std::vector<ReplayCommandOptions::Setting> settings;  // of the machine
};

int policy_bench_command(const PolicyBenchOptions& options);
