#include "policy_bench_scores.hpp"

#include <algorithm>
#include <cmath>

namespace {

constexpr double kEqual = 1.001;

double over(std::uint64_t a, std::uint64_t b) {
  return static_cast<double>(a) / static_cast<double>(std::max<std::uint64_t>(b, 1));
}

PolicyBenchCell cell_of(const PolicyBench& bench, std::size_t trace, std::size_t budget) {
  PolicyBenchCell cell{trace, budget, {}, 0};
  bool any = false;
  for (std::size_t policy = 0; policy < bench.policies.size(); ++policy) {
    const PolicyBenchRow& row = bench.row(trace, policy, budget);
    if (!row.well()) continue;
    cell.step_ns = any ? std::min(cell.step_ns, row.step_ns) : row.step_ns;
    any = true;
  }
  for (std::size_t policy = 0; any && policy < bench.policies.size(); ++policy) {
    const PolicyBenchRow& row = bench.row(trace, policy, budget);
    if (row.well() && over(row.step_ns, cell.step_ns) <= kEqual) cell.best.push_back(policy);
  }
  return cell;
}

PolicyRank rank_of(const PolicyBench& bench, const std::vector<PolicyBenchCell>& cells, std::size_t policy) {
  PolicyRank rank;
  rank.policy = policy;
  double ratios = 0, behind = 0;
  for (const PolicyBenchCell& cell : cells) {
    const PolicyBenchRow& row = bench.row(cell.trace, policy, cell.budget);
    if (!row.well()) continue;
    const double here = over(row.step_ns, cell.step_ns);
    ++rank.finished;
    rank.firsts += std::ranges::find(cell.best, policy) != cell.best.end() ? 1 : 0;
    ratios += std::log(row.ratio());
    behind += std::log(here);
    rank.worst_behind = std::max(rank.worst_behind, here);
  }
  if (rank.finished == 0) return rank;
  const auto count = static_cast<double>(rank.finished);
  rank.mean_ratio = std::exp(ratios / count);
  rank.mean_behind = std::exp(behind / count);
  return rank;
}

}  // namespace

std::vector<PolicyBenchCell> cells_of(const PolicyBench& bench) {
  std::vector<PolicyBenchCell> cells;
  for (std::size_t trace = 0; trace < bench.traces.size(); ++trace) {
    for (std::size_t budget = 0; budget < bench.budgets.size(); ++budget) {
      cells.push_back(cell_of(bench, trace, budget));
    }
  }
  return cells;
}

std::vector<PolicyRank> ranking_of(const PolicyBench& bench) {
  const std::vector<PolicyBenchCell> cells = cells_of(bench);
  std::vector<PolicyRank> ranking;
  for (std::size_t policy = 0; policy < bench.policies.size(); ++policy) {
    ranking.push_back(rank_of(bench, cells, policy));
  }
  std::ranges::stable_sort(ranking, [](const PolicyRank& a, const PolicyRank& b) {
    if (a.finished != b.finished) return a.finished > b.finished;
    return a.mean_behind < b.mean_behind;
  });
  return ranking;
}

std::optional<std::size_t> best_but(const PolicyBench& bench, std::size_t trace, std::size_t budget,
                                    std::size_t policy) {
  std::optional<std::size_t> best;
  for (std::size_t other = 0; other < bench.policies.size(); ++other) {
    const PolicyBenchRow& row = bench.row(trace, other, budget);
    if (other == policy || !row.well()) continue;
    if (!best || row.step_ns < bench.row(trace, *best, budget).step_ns) best = other;
  }
  return best;
}
