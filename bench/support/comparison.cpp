#include "comparison.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "timing.hpp"

namespace tessera::bench {

Comparison compare(std::string name, Bytes bytes, double goal, int rounds, const std::function<void()>& ours,
                   std::string reference_name, const std::function<void()>& reference) {
  return compare_timed(
      std::move(name), bytes, goal, rounds, [&] { return seconds(ours); }, std::move(reference_name),
      [&] { return seconds(reference); });
}

Comparison compare_timed(std::string name, Bytes bytes, double goal, int rounds, const std::function<double()>& ours,
                         std::string reference_name, const std::function<double()>& reference) {
  reference();
  ours();
  std::vector<double> our_times;
  std::vector<double> reference_times;
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    reference_times.push_back(reference());
    our_times.push_back(ours());
    ratios.push_back(reference_times.back() / our_times.back());
  }
  const auto amount = static_cast<double>(bytes.value());
  return {std::move(name),
          std::move(reference_name),
          bytes,
          goal,
          amount / median(our_times),
          amount / median(reference_times),
          median(ratios)};
}

Times middle_pair(const std::vector<Times>& rounds) {
  const auto between = [](const Times& one, const Times& other) {
    return Times{std::sqrt(one.ours * other.ours), std::sqrt(one.reference * other.reference)};
  };
  std::vector<Times> pairs;
  for (std::size_t i = 0; i + 1 < rounds.size(); i += 2) pairs.push_back(between(rounds[i], rounds[i + 1]));
  std::sort(pairs.begin(), pairs.end(), [](const Times& a, const Times& b) { return a.ratio() < b.ratio(); });
  return between(pairs[(pairs.size() - 1) / 2], pairs[pairs.size() / 2]);
}

void print(const std::vector<Comparison>& comparisons) {
  fmt::print("{:<28}{:>10}{:>12}  {:<22}{:>12}{:>8}{:>7}\n", "what", "MiB", "MB/s", "reference", "MB/s", "ratio",
             "goal");
  for (const Comparison& row : comparisons) {
    const std::string goal = row.goal > 0 ? fmt::format("{:.2f}", row.goal) : "-";
    fmt::print("{:<28}{:>10}{:>12.0f}  {:<22}{:>12.0f}{:>8.3f}{:>7}{}\n", row.name, row.bytes / 1_MiB, row.ours / 1e6,
               row.reference_name, row.reference / 1e6, row.ratio, goal, row.ratio >= row.goal ? "" : "  missed");
  }
}

nlohmann::ordered_json to_json(const std::vector<Comparison>& comparisons) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Comparison& row : comparisons) {
    rows.push_back({{"name", row.name},
                    {"bytes", row.bytes.value()},
                    {"bytes_per_second", row.ours},
                    {"reference", row.reference_name},
                    {"reference_bytes_per_second", row.reference},
                    {"ratio", row.ratio},
                    {"goal", row.goal}});
  }
  return rows;
}

}  // namespace tessera::bench
