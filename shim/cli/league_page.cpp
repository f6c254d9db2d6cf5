#include "league_page.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

#include "league_scores.hpp"
#include "rounded.hpp"
#include "svg_plot.hpp"

namespace {

constexpr const char* kHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Tessera: the league</title>
<style>
body{font:15px/1.45 system-ui,sans-serif;max-width:76rem;margin:2rem auto;padding:0 1rem;color:#222}
h2{margin-top:2.5rem}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:13px}
th,td{padding:.15rem .6rem;text-align:right;border-bottom:1px solid #eee}
th:first-child,td:first-child{text-align:left}
td.best{background:#dff2e1;font-weight:600}
td.none{color:#999}
.pair{display:flex;flex-wrap:wrap;gap:2rem;align-items:flex-start}
svg{width:38rem;max-width:100%}
svg .title{font:600 14px sans-serif}
svg .tick,svg .axis{font:11px sans-serif;fill:#555}
svg .rule{stroke:#eee}
.key span{margin-right:1.2rem}
</style></head><body>
<h1>The league</h1>
)";

// Colours that people with weak sight for red or green tell apart.
constexpr std::array<const char*, 6> kColours = {"#d55e00", "#0072b2", "#009e73",
                                                 "#cc79a7", "#56b4e9", "#e69f00"};

class Page {
 public:
  explicit Page(const League& league)
      : league_(league), cells_(cells_of(league)), standings_(standings_of(league)) {}

  std::string write() {
    add("{}", kHead);
    introduction();
    standings();
    for (std::size_t trace = 0; trace < league_.traces.size(); ++trace) section(trace);
    add("</body></html>\n");
    return std::move(html_);
  }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(html_), format, std::forward<Values>(values)...);
  }
  std::string policy_name(std::size_t policy) const { return escaped(league_.policies[policy]); }

  void introduction() {
    add("<p>Step time of each policy on each trace, with device memory as percent of the most bytes "
        "that are live at once. Measured in virtual time, in the last of {} passes over the trace. "
        "The lower bound holds for every plan that only moves bytes.",
        league_.iterations);
    for (const auto& [name, value] : league_.settings) add(" {} {}.", escaped(name), escaped(value));
    add("</p>\n");
  }
  void standings() {
    add("<h2>Standings</h2>\n<table><tr><th>policy</th><th>finished</th><th>first</th>"
        "<th>over the bound</th><th>behind the best</th><th>at worst</th></tr>\n");
    for (const LeagueStanding& s : standings_) {
      add("<tr><td>{}</td><td>{} of {}</td><td>{}</td><td>{:.3f}</td><td>{:.3f}</td><td>{:.3f}</td></tr>\n",
          policy_name(s.policy), s.finished, cells_.size(), s.firsts, s.mean_ratio, s.mean_behind,
          s.worst_behind);
    }
    add("</table>\n");
  }
  void section(std::size_t number) {
    const LeagueTrace& trace = league_.traces[number];
    add("<h2>{}</h2>\n", escaped(trace.name));
    if (!trace.failure.empty()) {
      add("<p>{}</p>\n", escaped(trace.failure));
      return;
    }
    add("<p>{} live at once, {} in the largest step, {} operations, {} of computing.</p>\n",
        rounded_bytes(trace.liveness_peak), rounded_bytes(trace.largest_step), trace.ops,
        rounded_seconds(static_cast<double>(trace.step_ns) / 1e9));
    add("<div class=\"pair\"><div>{}{}</div>\n", svg_of(plot_of(number)), key());
    table(number);
    add("</div>\n");
  }
  // The colour of a policy: the leaders have one.
  std::string colour_of(std::size_t policy) const {
    for (std::size_t i = 0; i < std::min(kColours.size(), standings_.size()); ++i) {
      if (standings_[i].policy == policy) return kColours[i];
    }
    return "";
  }
  std::string key() const {
    std::string text = "<p class=\"key\">";
    for (std::size_t i = 0; i < std::min(kColours.size(), standings_.size()); ++i) {
      text += fmt::format("<span style=\"color:{}\">&#9679; {}</span>", kColours[i],
                          policy_name(standings_[i].policy));
    }
    return text + "</p>";
  }
  // In percent of the time with ample memory; a pass may gain on the one before it, so never more.
  static double throughput(const LeagueTrace& trace, const LeagueRow& row) {
    if (row.step_ns <= trace.step_ns) return 100;
    return 100.0 * static_cast<double>(trace.step_ns) / static_cast<double>(row.step_ns);
  }
  Plot plot_of(std::size_t number) const {
    const LeagueTrace& trace = league_.traces[number];
    Plot plot;
    plot.title = "memory against throughput";
    plot.x_name = "device memory, % of the liveness peak";
    plot.y_name = "throughput, % of ample memory";
    plot.y_high = 100;
    for (int share = 0; share <= 100; share += 20) plot.y_ticks.emplace_back(share, fmt::to_string(share));
    const auto [low, high] = std::ranges::minmax(league_.budgets);
    plot.x_low = low - 5.0;
    plot.x_high = high + 5.0;
    for (const std::uint32_t budget : league_.budgets) {
      plot.x_ticks.emplace_back(budget, fmt::to_string(budget));
    }
    for (std::size_t i = standings_.size(); i-- > 0;) {
      const std::size_t policy = standings_[i].policy;
      PlotLine line{league_.policies[policy], colour_of(policy), {}};
      for (std::size_t budget = 0; budget < league_.budgets.size(); ++budget) {
        const LeagueRow& row = league_.row(number, policy, budget);
        if (!row.well()) continue;
        line.points.emplace_back(league_.budgets[budget], throughput(trace, row));
      }
      plot.lines.push_back(std::move(line));
    }
    return plot;
  }
  void table(std::size_t trace) {
    add("<table><tr><th>over the bound</th>");
    for (const std::uint32_t budget : league_.budgets) add("<th>{} %</th>", budget);
    add("</tr>\n");
    for (const LeagueStanding& standing : standings_) {
      add("<tr><td>{}</td>", policy_name(standing.policy));
      for (std::size_t budget = 0; budget < league_.budgets.size(); ++budget) {
        cell(league_.row(trace, standing.policy, budget), cells_[trace * league_.budgets.size() + budget]);
      }
      add("</tr>\n");
    }
    add("</table>\n");
  }
  void cell(const LeagueRow& row, const LeagueCell& cell) {
    if (!row.well()) {
      add("<td class=\"none\" title=\"{}\">-</td>", escaped(row.failure));
      return;
    }
    const bool best = std::ranges::find(cell.best, row.policy) != cell.best.end();
    add("<td{} title=\"{} a step; {} in, {} out; file {} read, {} written\">{:.3f}</td>",
        best ? " class=\"best\"" : "", rounded_seconds(static_cast<double>(row.step_ns) / 1e9),
        rounded_bytes(row.bytes_h2d), rounded_bytes(row.bytes_d2h), rounded_bytes(row.bytes_file_read),
        rounded_bytes(row.bytes_file_written), row.ratio());
  }

  const League& league_;
  const std::vector<LeagueCell> cells_;
  const std::vector<LeagueStanding> standings_;
  std::string html_;
};

}  // namespace

std::string league_page(const League& league) { return Page(league).write(); }
