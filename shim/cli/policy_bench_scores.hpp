// Winners per cell and ranking: pure functions of a policy benchmark's rows.
//
// A cell is one trace under one budget. All policies with a step time within 0.1 % of the shortest are the best of a
// cell: smaller differences come from rounding to pages.
//
// Thread safety: stateless.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "policy_bench_row.hpp"

struct PolicyBenchCell {
  std::size_t trace = 0, budget = 0;
  std::vector<std::size_t> best;  // policies, in the policy benchmark's order; empty if none finished
  std::uint64_t step_ns = 0;      // the shortest
};

struct PolicyRank {
  std::size_t policy = 0;
  std::size_t finished = 0;  // number of finished cells
  std::size_t firsts = 0;    // cells in which it is among the best
  double mean_ratio = 0;     // step over lower bound: geometric mean of the finished cells
  double mean_behind = 0;    // step over the cell's shortest: geometric mean
  double worst_behind = 0;
};

// In order of trace, then budget.
std::vector<PolicyBenchCell> cells_of(const PolicyBench& bench);
// Most finished cells first, then the least behind, then by the policy benchmark's order.
std::vector<PolicyRank> ranking_of(const PolicyBench& bench);
// The best of a cell among all policies but one, for instance all but ours. Nothing if none finished.
std::optional<std::size_t> best_but(const PolicyBench& bench, std::size_t trace, std::size_t budget,
                                    std::size_t policy);
