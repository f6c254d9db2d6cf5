#include "league_scores.hpp"

#include <algorithm>
#include <cmath>

namespace {

constexpr double kEqual = 1.001;

double over(std::uint64_t a, std::uint64_t b) {
  return static_cast<double>(a) / static_cast<double>(std::max<std::uint64_t>(b, 1));
}

LeagueCell cell_of(const League& league, std::size_t trace, std::size_t budget) {
  LeagueCell cell{trace, budget, {}, 0};
  bool any = false;
  for (std::size_t policy = 0; policy < league.policies.size(); ++policy) {
    const LeagueRow& row = league.row(trace, policy, budget);
    if (!row.well()) continue;
    cell.step_ns = any ? std::min(cell.step_ns, row.step_ns) : row.step_ns;
    any = true;
  }
  for (std::size_t policy = 0; any && policy < league.policies.size(); ++policy) {
    const LeagueRow& row = league.row(trace, policy, budget);
    if (row.well() && over(row.step_ns, cell.step_ns) <= kEqual) cell.best.push_back(policy);
  }
  return cell;
}

LeagueStanding standing_of(const League& league, const std::vector<LeagueCell>& cells,
                           std::size_t policy) {
  LeagueStanding standing;
  standing.policy = policy;
  double ratios = 0, behind = 0;
  for (const LeagueCell& cell : cells) {
    const LeagueRow& row = league.row(cell.trace, policy, cell.budget);
    if (!row.well()) continue;
    const double here = over(row.step_ns, cell.step_ns);
    ++standing.finished;
    standing.firsts += std::ranges::find(cell.best, policy) != cell.best.end() ? 1 : 0;
    ratios += std::log(row.ratio());
    behind += std::log(here);
    standing.worst_behind = std::max(standing.worst_behind, here);
  }
  if (standing.finished == 0) return standing;
  const auto count = static_cast<double>(standing.finished);
  standing.mean_ratio = std::exp(ratios / count);
  standing.mean_behind = std::exp(behind / count);
  return standing;
}

}  // namespace

std::vector<LeagueCell> cells_of(const League& league) {
  std::vector<LeagueCell> cells;
  for (std::size_t trace = 0; trace < league.traces.size(); ++trace) {
    for (std::size_t budget = 0; budget < league.budgets.size(); ++budget) {
      cells.push_back(cell_of(league, trace, budget));
    }
  }
  return cells;
}

std::vector<LeagueStanding> standings_of(const League& league) {
  const std::vector<LeagueCell> cells = cells_of(league);
  std::vector<LeagueStanding> standings;
  for (std::size_t policy = 0; policy < league.policies.size(); ++policy) {
    standings.push_back(standing_of(league, cells, policy));
  }
  std::ranges::stable_sort(standings, [](const LeagueStanding& a, const LeagueStanding& b) {
    if (a.finished != b.finished) return a.finished > b.finished;
    return a.mean_behind < b.mean_behind;
  });
  return standings;
}

std::optional<std::size_t> best_but(const League& league, std::size_t trace, std::size_t budget,
                                    std::size_t policy) {
  std::optional<std::size_t> best;
  for (std::size_t other = 0; other < league.policies.size(); ++other) {
    const LeagueRow& row = league.row(trace, other, budget);
    if (other == policy || !row.well()) continue;
    if (!best || row.step_ns < league.row(trace, *best, budget).step_ns) best = other;
  }
  return best;
}
