#include "policy_bench_page.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/core.h>

#include "html_page.hpp"
#include "policy_bench_scores.hpp"
#include "rounded.hpp"
#include "svg_plot.hpp"

namespace {

constexpr std::size_t kLeaders = 6;  // those with a colour

class Page {
 public:
  explicit Page(const PolicyBench& bench)
      : policy_bench_(bench), cells_(cells_of(bench)), ranking_(ranking_of(bench)) {}

  std::string write() {
    add("{}<h1>The policy benchmark</h1>\n", page_head("the policy benchmark"));
    introduction();
    ranking();
    for (std::size_t trace = 0; trace < policy_bench_.traces.size(); ++trace) section(trace);
    add("{}", page_end());
    return std::move(html_);
  }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(html_), format, std::forward<Values>(values)...);
  }
  std::string policy_name(std::size_t policy) const { return escaped(policy_bench_.policies[policy]); }

  void introduction() {
    add("<p>Step time of each policy on each trace, with device memory as a percentage of the largest number of bytes "
        "that are live at once. Measured in virtual time, the mean of the last two of {} passes over the trace. "
        "The lower bound holds for every plan that only copies bytes.",
        policy_bench_.iterations);
    for (const auto& [name, value] : policy_bench_.settings) add(" {} {}.", escaped(name), escaped(value));
    add("</p>\n");
  }
  void ranking() {
    add("<h2>Standings</h2>\n<table><tr><th>policy</th><th>finished</th><th>first</th>"
        "<th>over the bound</th><th>behind the best</th><th>at worst</th></tr>\n");
    for (const PolicyRank& s : ranking_) {
      const auto shown = [&](double ratio) {
        return s.finished == 0 ? std::string("-") : fmt::format("{:.3f}", ratio);
      };
      add("<tr><td>{}</td><td>{} of {}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", policy_name(s.policy),
          s.finished, cells_.size(), s.firsts, shown(s.mean_ratio), shown(s.mean_behind), shown(s.worst_behind));
    }
    add("</table>\n");
  }
  void section(std::size_t number) {
    const PolicyBenchTrace& trace = policy_bench_.traces[number];
    add("<h2>{}</h2>\n", escaped(trace.name));
    if (!trace.failure.empty()) {
      add("<p>{}</p>\n", escaped(trace.failure));
      return;
    }
    add("<p>{} live at once, {} in the largest step, {} operations, {} of computation.</p>\n",
        rounded_bytes(trace.liveness_peak), rounded_bytes(trace.largest_step), trace.ops,
        rounded_seconds(static_cast<double>(trace.step_ns) / 1e9));
    add("<div class=\"pair\"><div>{}{}</div>\n", svg_of(plot_of(number)), key());
    table(number);
    add("</div>\n");
  }
  // The colour of a policy; only the leaders have one.
  std::string colour_of(std::size_t policy) const {
    for (std::size_t i = 0; i < std::min(kLeaders, ranking_.size()); ++i) {
      if (ranking_[i].policy == policy) return kPageColours[i];
    }
    return "";
  }
  std::string key() const {
    std::vector<std::pair<std::string, std::string>> leaders;
    for (std::size_t i = 0; i < std::min(kLeaders, ranking_.size()); ++i) {
      leaders.emplace_back(policy_bench_.policies[ranking_[i].policy], kPageColours[i]);
    }
    return colour_key(leaders);
  }
  // Percent of the throughput with ample memory. A pass may be faster than the previous one, so it is capped at 100.
  static double throughput(const PolicyBenchTrace& trace, const PolicyBenchRow& row) {
    if (row.step_ns <= trace.step_ns) return 100;
    return 100.0 * static_cast<double>(trace.step_ns) / static_cast<double>(row.step_ns);
  }
  Plot plot_of(std::size_t number) const {
    const PolicyBenchTrace& trace = policy_bench_.traces[number];
    Plot plot;
    plot.title = "memory against throughput";
    plot.x_name = "device memory, % of the liveness peak";
    plot.y_name = "throughput, % of ample memory";
    plot.y_high = 100;
    for (int share = 0; share <= 100; share += 20) plot.y_ticks.emplace_back(share, std::to_string(share));
    const auto [low, high] = std::ranges::minmax(policy_bench_.budgets);
    plot.x_low = low - 5.0;
    plot.x_high = high + 5.0;
    for (const std::uint32_t budget : policy_bench_.budgets) {
      plot.x_ticks.emplace_back(budget, std::to_string(budget));
    }
    for (std::size_t i = ranking_.size(); i-- > 0;) {
      const std::size_t policy = ranking_[i].policy;
      PlotLine line{policy_bench_.policies[policy], colour_of(policy), {}};
      for (std::size_t budget = 0; budget < policy_bench_.budgets.size(); ++budget) {
        const PolicyBenchRow& row = policy_bench_.row(number, policy, budget);
        if (!row.well()) continue;
        line.points.emplace_back(policy_bench_.budgets[budget], throughput(trace, row));
      }
      plot.lines.push_back(std::move(line));
    }
    return plot;
  }
  void table(std::size_t trace) {
    add("<table><tr><th>over the bound</th>");
    for (const std::uint32_t budget : policy_bench_.budgets) add("<th>{} %</th>", budget);
    add("</tr>\n");
    for (const PolicyRank& rank : ranking_) {
      add("<tr><td>{}</td>", policy_name(rank.policy));
      for (std::size_t budget = 0; budget < policy_bench_.budgets.size(); ++budget) {
        cell(policy_bench_.row(trace, rank.policy, budget), cells_[trace * policy_bench_.budgets.size() + budget]);
      }
      add("</tr>\n");
    }
    add("</table>\n");
  }
  void cell(const PolicyBenchRow& row, const PolicyBenchCell& cell) {
    if (!row.well()) {
      add("<td class=\"none\" title=\"{}\">-</td>", escaped(row.failure));
      return;
    }
    const bool best = std::ranges::find(cell.best, row.policy) != cell.best.end();
    add("<td{} title=\"{} a step; {} in, {} out; file {} read, {} written; peer {} in, {} out\">{:.3f}</td>",
        best ? " class=\"best\"" : "", rounded_seconds(static_cast<double>(row.step_ns) / 1e9),
        rounded_bytes(row.bytes_h2d), rounded_bytes(row.bytes_d2h), rounded_bytes(row.bytes_file_read),
        rounded_bytes(row.bytes_file_written), rounded_bytes(row.bytes_peer_in), rounded_bytes(row.bytes_peer_out),
        row.ratio());
  }

  const PolicyBench& policy_bench_;
  const std::vector<PolicyBenchCell> cells_;
  const std::vector<PolicyRank> ranking_;
  std::string html_;
};

}  // namespace

std::string policy_bench_page(const PolicyBench& bench) { return Page(bench).write(); }
