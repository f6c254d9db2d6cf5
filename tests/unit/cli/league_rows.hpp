// Hand-made leagues, for tests of the code that evaluates them.
//
// Thread safety: stateless.
#pragma once

#include <string>
#include <vector>

#include "league_row.hpp"

// Step times in order of trace, policy, budget; the bound of each is 100 ns, and 0 is a failure.
inline League league_of(std::vector<std::string> traces, std::vector<std::string> policies,
                        std::vector<std::uint32_t> budgets, const std::vector<std::uint64_t>& steps) {
  League league;
  league.iterations = 3;
  for (const std::string& name : traces) {
    LeagueTrace& trace = league.traces.emplace_back();
    trace.name = name;
    trace.liveness_peak = 1000;
    trace.step_ns = 100;
  }
  league.policies = std::move(policies);
  league.budgets = std::move(budgets);
  const std::size_t width = league.budgets.size(), height = league.policies.size() * width;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    LeagueRow& row = league.rows.emplace_back();
    row.trace = i / height;
    row.policy = i % height / width;
    row.budget = i % width;
    row.device_memory = league.budgets[row.budget] * 10;
    row.step_ns = steps[i];
    row.lower_bound_ns = 100;
    row.bytes_file_written = 7;
    if (steps[i] == 0) row.failure = "too little";
  }
  return league;
}
