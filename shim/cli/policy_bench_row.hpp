// One replay of the policy benchmark as a value: trace, policy, budget, and result.
//
// Thread safety: values.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "child_pool.hpp"

// The needs of a trace with ample memory.
struct PolicyBenchTrace {
  std::string name;
  std::string failure;  // why it cannot be replayed at all, or ""
  std::uint64_t liveness_peak = 0, largest_step = 0;
  std::uint64_t step_ns = 0, ops = 0;  // of one iteration
};

struct PolicyBenchRow {
  std::size_t trace = 0, policy = 0, budget = 0;  // indices in the policy benchmark
  std::uint64_t device_memory = 0;
  std::string failure;        // why there are no figures, or ""
  std::uint64_t step_ns = 0;  // of one iteration, averaged over the last two passes
  // Of one iteration, in the last pass.
  std::uint64_t lower_bound_ns = 0;
  std::uint64_t bytes_h2d = 0, bytes_d2h = 0, bytes_file_read = 0, bytes_file_written = 0, bytes_peer_in = 0,
                bytes_peer_out = 0;
  // That the whole replay took on this machine. Not reproducible, so no file has it but the costs.
  std::chrono::microseconds processor_time{};

  bool well() const { return failure.empty(); }
  // Step time over the lower bound. REQUIRES: well().
  double ratio() const;
};

// A whole policy benchmark; rows in order of trace, policy, budget.
struct PolicyBench {
  std::uint32_t iterations = 0;
  // Of the machine, as given; and what calls about memory took, given or not.
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<PolicyBenchTrace> traces;
  std::vector<std::string> policies;
  std::vector<std::uint32_t> budgets;  // percent of the liveness peak
  std::vector<PolicyBenchRow> rows;

  // REQUIRES: all rows are present.
  const PolicyBenchRow& row(std::size_t trace, std::size_t policy, std::size_t budget) const {
    return rows[(trace * policies.size() + policy) * budgets.size() + budget];
  }
};

// Reads the JSON of a replay or of a failure ({"failure":…}), or records why the process ended.
void read_trace_figures(const ChildAnswer& answer, PolicyBenchTrace& trace);
void read_row_figures(const ChildAnswer& answer, PolicyBenchRow& row);
// Adds to the settings what calls took in the replay, unless they have it.
void read_call_times(const ChildAnswer& answer, PolicyBench& bench);
