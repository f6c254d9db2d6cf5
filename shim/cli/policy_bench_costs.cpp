#include "policy_bench_costs.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/core.h>

#include "csv_field.hpp"
#include "rounded.hpp"

namespace {

double seconds_of(const PolicyBenchRow& row) { return std::chrono::duration<double>(row.processor_time).count(); }

std::optional<std::size_t> index_of(const PolicyBench& bench, const char* policy) {
  const auto found = std::ranges::find(bench.policies, policy);
  if (found == bench.policies.end()) return std::nullopt;
  return static_cast<std::size_t>(found - bench.policies.begin());
}

}  // namespace

std::string policy_bench_costs_csv(const PolicyBench& bench) {
  std::string text = "trace,policy,budget,processor_s\n";
  for (const PolicyBenchRow& row : bench.rows) {
    const bool known = row.processor_time.count() != 0;  // it was replayed
    fmt::format_to(std::back_inserter(text), "{},{},{},{}\n", csv_field(bench.traces[row.trace].name),
                   csv_field(bench.policies[row.policy]), bench.budgets[row.budget],
                   known ? fmt::format("{:.2f}", seconds_of(row)) : "");
  }
  return text;
}

std::string policy_bench_costs_table(const PolicyBench& bench) {
  const std::optional<std::size_t> ours = index_of(bench, "auto"), plain = index_of(bench, "recency");
  if (!ours || !plain) return "";
  std::string lines;
  double sum = 0, worst = 0;
  std::size_t count = 0;
  for (std::size_t trace = 0; trace < bench.traces.size(); ++trace) {
    for (std::size_t budget = 0; budget < bench.budgets.size(); ++budget) {
      const PolicyBenchRow& with = bench.row(trace, *ours, budget);
      const PolicyBenchRow& without = bench.row(trace, *plain, budget);
      if (!with.well() || !without.well()) continue;
      const double beside = seconds_of(with) - seconds_of(without);
      sum += beside;
      worst = count == 0 ? beside : std::max(worst, beside);
      ++count;
      fmt::format_to(std::back_inserter(lines), "{:<28} {:>5}% {:>10} {:>10} {:>10.1f} s\n", bench.traces[trace].name,
                     bench.budgets[budget], rounded_seconds(seconds_of(with)), rounded_seconds(seconds_of(without)),
                     beside);
    }
  }
  if (count == 0) return "";
  return fmt::format("\nprocessor time of a replay, on this machine\n{:<28} {:>6} {:>10} {:>10} {:>12}\n", "trace",
                     "budget", "auto", "recency", "difference") +
         lines +
         fmt::format("beside the program `auto` takes {:.1f} s in the mean, {:.1f} s at most\n",
                     sum / static_cast<double>(count), worst);
}
