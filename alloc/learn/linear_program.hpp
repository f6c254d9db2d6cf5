// The best values for a small linear program: least cost under limits on sums.
//
// Why here: FlexGen's split of tensors over tiers is one (papers.md §7.2), of a dozen unknowns. Two phases of
// the simplex method on a dense tableau, with Bland's rule, which cannot cycle but for rounding, and may take as
// many steps as there are corners: so it is bounded.
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
  // In each phase.
  static constexpr std::size_t kMostPivots = 10'000;

  // Of each unknown: what one unit of it costs. Unknowns are never negative.
  explicit LinearProgram(std::vector<double> cost) : cost_(std::move(cost)) {}

  // REQUIRES: one factor per unknown.
  void at_most(std::vector<double> factors, double limit);
  void at_least(std::vector<double> factors, double limit);
  void exactly(const std::vector<double>& factors, double value);

  // Values of least cost; nullopt when no values keep all limits, the cost has no least, or it takes too many pivots.
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
