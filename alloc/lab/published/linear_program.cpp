#include "lab/published/linear_program.hpp"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr double kZero = 1e-9;  // rows are scaled to factors of at most 1

}  // namespace

// One equation per row: unknowns, then a slack per row, then an artificial variable per row with a negative
// limit, then the right-hand side. The basis names the column that each row determines.
class Tableau {
 public:
  explicit Tableau(const LinearProgram& program) : unknowns_(program.cost_.size()), rows_(program.rows_.size()) {
    const std::size_t plain = unknowns_ + rows_;
    columns_ = plain;
    for (const auto& row : program.rows_) columns_ += row.limit < 0 ? 1 : 0;
    std::size_t artificial = plain;
    for (std::size_t i = 0; i < rows_; ++i) {
      const auto& row = program.rows_[i];
      double scale = 0;
      for (const double factor : row.factors) scale = std::max(scale, std::abs(factor));
      scale = (scale > 0 ? 1 / scale : 1) * (row.limit < 0 ? -1 : 1);
      std::vector<double> line(columns_ + 1);
      for (std::size_t j = 0; j < unknowns_; ++j) line[j] = row.factors[j] * scale;
      line[unknowns_ + i] = row.limit < 0 ? -1 : 1;
      line[columns_] = row.limit * scale;
      basis_.push_back(row.limit < 0 ? artificial : unknowns_ + i);
      if (row.limit < 0) line[artificial++] = 1;
      lines_.push_back(std::move(line));
    }
  }

  bool find_feasible() {
    const std::size_t plain = unknowns_ + rows_;
    std::vector<double> cost(columns_);
    std::fill(cost.begin() + static_cast<std::ptrdiff_t>(plain), cost.end(), 1.0);
    improve(cost, columns_);
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (basis_[i] < plain) continue;
      if (lines_[i][columns_] > 1e-7) return false;
      drive_out(i, plain);
    }
    return true;
  }

  bool minimise(std::vector<double> cost) {
    cost.resize(columns_);
    return improve(cost, unknowns_ + rows_);
  }

  std::vector<double> values() const {
    std::vector<double> values(unknowns_);
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (basis_[i] < unknowns_) values[basis_[i]] = lines_[i][columns_];
    }
    return values;
  }

 private:
  // Returns false if the cost is unbounded or the pivot limit is reached. Columns from `allowed` on do not
  // enter.
  bool improve(const std::vector<double>& cost, std::size_t allowed) {
    for (std::size_t pivots = 0; pivots < LinearProgram::kMostPivots; ++pivots) {
      const std::optional<std::size_t> column = entering(cost, allowed);
      if (!column) return true;
      const std::optional<std::size_t> row = leaving(*column);
      if (!row) return false;
      pivot(*row, *column);
    }
    return false;
  }

  std::optional<std::size_t> entering(const std::vector<double>& cost, std::size_t allowed) const {
    for (std::size_t j = 0; j < allowed; ++j) {
      double reduced = cost[j];
      for (std::size_t i = 0; i < lines_.size(); ++i) reduced -= cost[basis_[i]] * lines_[i][j];
      if (reduced < -kZero) return j;
    }
    return std::nullopt;
  }

  std::optional<std::size_t> leaving(std::size_t column) const {
    std::optional<std::size_t> best;
    double least = 0;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      if (lines_[i][column] <= kZero) continue;
      const double ratio = lines_[i][columns_] / lines_[i][column];
      if (best && (ratio > least || (ratio == least && basis_[i] > basis_[*best]))) continue;
      best = i;
      least = ratio;
    }
    return best;
  }

  void pivot(std::size_t row, std::size_t column) {
    const double scale = 1 / lines_[row][column];
    for (double& value : lines_[row]) value *= scale;
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const double factor = lines_[i][column];
      if (i == row || factor == 0) continue;
      for (std::size_t j = 0; j <= columns_; ++j) lines_[i][j] -= factor * lines_[row][j];
    }
    basis_[row] = column;
  }

  // Replaces an artificial variable of value 0 by any other column; in a row without one, nothing depends on
  // it.
  void drive_out(std::size_t row, std::size_t plain) {
    for (std::size_t j = 0; j < plain; ++j) {
      if (std::abs(lines_[row][j]) > kZero) return pivot(row, j);
    }
  }

  std::size_t unknowns_, rows_, columns_ = 0;
  std::vector<std::vector<double>> lines_;
  std::vector<std::size_t> basis_;
};

void LinearProgram::at_most(std::vector<double> factors, double limit) { rows_.push_back({std::move(factors), limit}); }

void LinearProgram::at_least(std::vector<double> factors, double limit) {
  for (double& factor : factors) factor = -factor;
  rows_.push_back({std::move(factors), -limit});
}

void LinearProgram::exactly(const std::vector<double>& factors, double value) {
  at_most(factors, value);
  at_least(factors, value);
}

std::optional<std::vector<double>> LinearProgram::solve() const {
  Tableau tableau(*this);
  if (!tableau.find_feasible() || !tableau.minimise(cost_)) return std::nullopt;
  return tableau.values();
}

}  // namespace tessera
