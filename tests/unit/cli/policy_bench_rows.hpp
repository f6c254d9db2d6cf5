// Hand-made policy benchmarks, for tests of the code that evaluates them.
//
// Thread safety: stateless.
#pragma once

#include <string>
#include <vector>

#include "policy_bench_row.hpp"

// Step times in order of trace, policy, budget; the bound of each is 100 ns, and 0 is a failure.
inline PolicyBench policy_bench_of(std::vector<std::string> traces, std::vector<std::string> policies,
                                   std::vector<std::uint32_t> budgets, const std::vector<std::uint64_t>& steps) {
  PolicyBench bench;
  bench.iterations = 3;
  for (const std::string& name : traces) {
    PolicyBenchTrace& trace = bench.traces.emplace_back();
    trace.name = name;
    trace.liveness_peak = 1000;
    trace.step_ns = 100;
  }
  bench.policies = std::move(policies);
  bench.budgets = std::move(budgets);
  const std::size_t width = bench.budgets.size(), height = bench.policies.size() * width;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    PolicyBenchRow& row = bench.rows.emplace_back();
    row.trace = i / height;
    row.policy = i % height / width;
    row.budget = i % width;
    row.device_memory = bench.budgets[row.budget] * 10;
    row.step_ns = steps[i];
    row.lower_bound_ns = 100;
    row.bytes_file_written = 7;
    if (steps[i] == 0) row.failure = "too little";
  }
  return bench;
}
