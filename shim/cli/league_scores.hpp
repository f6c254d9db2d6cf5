// Winners per cell and ranking: pure functions of a league's rows.
//
// A cell is one trace under one budget. All policies with a step time within 0.1 % of the shortest are the best of a
// cell: smaller differences come from rounding to pages.
//
// Thread safety: stateless.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "league_row.hpp"

struct LeagueCell {
  std::size_t trace = 0, budget = 0;
  std::vector<std::size_t> best;  // policies, in the league's order; empty if none finished
  std::uint64_t step_ns = 0;      // the shortest
};

struct LeagueStanding {
  std::size_t policy = 0;
  std::size_t finished = 0;  // number of finished cells
  std::size_t firsts = 0;    // cells in which it is among the best
  double mean_ratio = 0;     // step over lower bound: geometric mean of the finished cells
  double mean_behind = 0;    // step over the cell's shortest: geometric mean
  double worst_behind = 0;
};

// In order of trace, then budget.
std::vector<LeagueCell> cells_of(const League& league);
// Most finished cells first, then the least behind, then by the league's order.
std::vector<LeagueStanding> standings_of(const League& league);
// The best of a cell among all policies but one, for instance all but ours. Nothing if none finished.
std::optional<std::size_t> best_but(const League& league, std::size_t trace, std::size_t budget,
                                    std::size_t policy);
