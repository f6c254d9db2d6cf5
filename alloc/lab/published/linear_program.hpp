// Solves small linear programs: least cost under linear constraints.
//
// FlexGen's split of tensors over tiers (ICML 2023) is one, with a dozen unknowns. Two-phase simplex on a dense
// tableau with Bland's rule, which cannot cycle except through rounding but may visit every vertex, so the
// number of pivots is bounded.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace tessera {

class LinearProgram {
 public:
  // Per phase.
  static constexpr std::size_t kMostPivots = 10'000;

  // `cost` is the cost per unit of each unknown. Unknowns are never negative.
  explicit LinearProgram(std::vector<double> cost) : cost_(std::move(cost)) {}

  // REQUIRES: one factor per unknown, in each of the following.
  void at_most(std::vector<double> factors, double limit);
  void at_least(std::vector<double> factors, double limit);
  void exactly(const std::vector<double>& factors, double value);

  // The values of least cost; nullopt if the constraints are infeasible, the cost is unbounded, or the pivot
  // limit is exceeded.
  std::optional<std::vector<double>> solve() const;

 private:
  friend class Tableau;
  struct Row {
    std::vector<double> factors;  // sum of factors × values <= limit
    double limit;
  };

  std::vector<double> cost_;
  std::vector<Row> rows_;
};

}  // namespace tessera
