#include "policy_bench_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "csv_field.hpp"
#include "policy_bench_scores.hpp"
#include "rounded.hpp"

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kNamed = 3;  // named policies among those that share a first place

// More than four digits exceed the model's accuracy.
double short_number(double value) { return std::round(value * 1e4) / 1e4; }

Json json_of(const PolicyBenchTrace& trace) {
  Json json{{"trace", trace.name}};
  if (!trace.failure.empty()) {
    json["failure"] = trace.failure;
    return json;
  }
  json["liveness_peak_bytes"] = trace.liveness_peak;
  json["largest_step_bytes"] = trace.largest_step;
  json["compute_ns"] = trace.step_ns;
  json["ops"] = trace.ops;
  return json;
}

Json json_of(const PolicyBench& bench, const PolicyBenchRow& row) {
  Json json{{"trace", bench.traces[row.trace].name},
            {"policy", bench.policies[row.policy]},
            {"budget", bench.budgets[row.budget]},
            {"device_memory", row.device_memory}};
  if (!row.well()) {
    json["failure"] = row.failure;
    return json;
  }
  json["step_ns"] = row.step_ns;
  json["lower_bound_ns"] = row.lower_bound_ns;
  json["ratio"] = short_number(row.ratio());
  json["bytes_h2d"] = row.bytes_h2d;
  json["bytes_d2h"] = row.bytes_d2h;
  json["bytes_file_read"] = row.bytes_file_read;
  json["bytes_file_written"] = row.bytes_file_written;
  json["bytes_peer_in"] = row.bytes_peer_in;
  json["bytes_peer_out"] = row.bytes_peer_out;
  return json;
}

Json json_of(const PolicyBench& bench, const PolicyBenchCell& cell) {
  Json best = Json::array();
  for (const std::size_t policy : cell.best) best.push_back(bench.policies[policy]);
  return {{"trace", bench.traces[cell.trace].name},
          {"budget", bench.budgets[cell.budget]},
          {"best", std::move(best)},
          {"step_ns", cell.step_ns}};
}

Json json_of(const PolicyBench& bench, const PolicyRank& rank) {
  Json json{{"policy", bench.policies[rank.policy]}, {"finished", rank.finished}, {"firsts", rank.firsts}};
  if (rank.finished == 0) return json;
  json["mean_ratio"] = short_number(rank.mean_ratio);
  json["mean_behind"] = short_number(rank.mean_behind);
  json["worst_behind"] = short_number(rank.worst_behind);
  return json;
}

// A JSON array with one line per member.
template <class Members>
std::string lines_of(const PolicyBench& bench, const Members& members) {
  std::string text = "[";
  const char* before = "\n";
  for (const auto& member : members) {
    text += before;
    text += json_of(bench, member).dump(-1, ' ', false, Json::error_handler_t::replace);
    before = ",\n";
  }
  return text + "]";
}

std::string names_of(const PolicyBench& bench, const PolicyBenchCell& cell) {
  if (cell.best.empty()) return "-";
  std::string text;
  for (std::size_t i = 0; i < std::min(kNamed, cell.best.size()); ++i) {
    text += (i == 0 ? "" : ", ") + bench.policies[cell.best[i]];
  }
  if (cell.best.size() > kNamed) text += fmt::format(" and {} more", cell.best.size() - kNamed);
  return text;
}

}  // namespace

std::string policy_bench_json(const PolicyBench& bench) {
  Json head{{"iterations", bench.iterations},
            {"settings", Json::object()},
            {"budgets", bench.budgets},
            {"policies", bench.policies},
            {"traces", Json::array()}};
  for (const auto& [name, value] : bench.settings) head["settings"][name] = value;
  for (const PolicyBenchTrace& trace : bench.traces) head["traces"].push_back(json_of(trace));
  std::string text = head.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.pop_back();  // the closing brace
  return text + ",\n\"ranking\":" + lines_of(bench, ranking_of(bench)) +
         ",\n\"cells\":" + lines_of(bench, cells_of(bench)) + ",\n\"rows\":" + lines_of(bench, bench.rows) + "}\n";
}

std::string policy_bench_csv(const PolicyBench& bench) {
  std::string text =
      "trace,policy,budget,device_memory,step_ns,lower_bound_ns,ratio,bytes_h2d,bytes_d2h,"
      "bytes_file_read,bytes_file_written,bytes_peer_in,bytes_peer_out,failure\n";
  for (const PolicyBenchRow& row : bench.rows) {
    fmt::format_to(std::back_inserter(text), "{},{},{},{},", csv_field(bench.traces[row.trace].name),
                   csv_field(bench.policies[row.policy]), bench.budgets[row.budget], row.device_memory);
    if (row.well()) {
      fmt::format_to(std::back_inserter(text), "{},{},{:.4f},{},{},{},{},{},{},\n", row.step_ns, row.lower_bound_ns,
                     row.ratio(), row.bytes_h2d, row.bytes_d2h, row.bytes_file_read, row.bytes_file_written,
                     row.bytes_peer_in, row.bytes_peer_out);
    } else {
      text += ",,,,,,,,," + csv_field(row.failure) + "\n";
    }
  }
  return text;
}

std::string policy_bench_table(const PolicyBench& bench) {
  const std::vector<PolicyBenchCell> cells = cells_of(bench);
  std::string text = fmt::format("{:<16} {:>8} {:>6} {:>11} {:>12} {:>12}\n", "policy", "finished", "first",
                                 "over bound", "behind best", "at worst");
  for (const PolicyRank& s : ranking_of(bench)) {
    const auto shown = [&](double ratio) { return s.finished == 0 ? std::string("-") : fmt::format("{:.3f}", ratio); };
    fmt::format_to(std::back_inserter(text), "{:<16} {:>5}/{:<2} {:>6} {:>11} {:>12} {:>12}\n",
                   bench.policies[s.policy], s.finished, cells.size(), s.firsts, shown(s.mean_ratio),
                   shown(s.mean_behind), shown(s.worst_behind));
  }
  if (!bench.settings.empty()) {
    text += "\non a machine with";
    const char* before = " ";
    for (const auto& [name, value] : bench.settings) {
      text += fmt::format("{}{} {}", std::exchange(before, ", "), name, value);
    }
    text += "\n";
  }
  text += fmt::format("\n{:<28} {:>6} {:>10} {:>10}  {}\n", "trace", "budget", "step", "over bound", "first");
  for (const PolicyBenchCell& cell : cells) {
    fmt::format_to(std::back_inserter(text), "{:<28} {:>5}% ", bench.traces[cell.trace].name,
                   bench.budgets[cell.budget]);
    if (cell.best.empty()) {
      text += fmt::format("{:>10} {:>10}  {}\n", "-", "-", bench.row(cell.trace, 0, cell.budget).failure);
      continue;
    }
    const PolicyBenchRow& best = bench.row(cell.trace, cell.best.front(), cell.budget);
    fmt::format_to(std::back_inserter(text), "{:>10} {:>10.3f}  {}\n",
                   rounded_seconds(static_cast<double>(cell.step_ns) / 1e9), best.ratio(), names_of(bench, cell));
  }
  return text;
}
