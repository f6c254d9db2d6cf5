#include "run_history.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/core.h>

namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;

std::string word(const Json& json, const char* name) { return json.at(name).get<std::string>(); }
std::vector<double> numbers(const Json& json) { return json.get<std::vector<double>>(); }
// For a memory or link that files of an earlier version lack.
std::vector<double> numbers_if_any(const Json& json, const std::string& name, std::size_t slots) {
  const bool later = name.starts_with("peer");
  return later && !json.contains(name) ? std::vector<double>(slots) : numbers(json.at(name));
}

RunHistory::Block block_of(const Json& json) {
  const auto number = [&](const char* name) { return json.at(name).get<std::uint64_t>(); };
  return {word(json, "address"),
          word(json, "tag"),
          json.at("gone").get<bool>(),
          number("bytes"),
          number("in"),
          number("out"),
          number("file_read"),
          number("file_write"),
          json.value("peer_in", std::uint64_t{0}),
          json.value("peer_out", std::uint64_t{0}),
          number("stalls"),
          number("stall_ns")};
}

// Both throw nlohmann's exceptions if the JSON has another structure.
void fill_stats(const Json& stats, RunHistory& history) {
  (void)stats.at("tessera");  // pages begin with it
  for (const Json& group : stats) (void)group.get_ref<const Json::object_t&>();
  history.stats = stats;
}
void fill(const Json& json, RunHistory& history) {
  history.program = word(json, "program");
  history.slot_seconds = json.at("slot_ns").get<double>() / 1e9;
  history.seconds = json.at("ended_ns").get<double>() / 1e9;
  if (json.contains("part_from_ns")) history.part_from = json.at("part_from_ns").get<double>() / 1e9;
  fill_stats(json.at("stats"), history);
  const std::size_t slots = json.at("links").at("in").size();
  for (const char* const link : kHistoryLinks) {
    history.links.push_back({link, numbers_if_any(json.at("links"), link, slots)});
  }
  for (const auto& [cause, times] : json.at("stalls").items()) history.stalls.push_back({cause, numbers(times)});
  for (const Json& entry : json.at("residency")) {
    RunHistory::Tag tag{word(entry, "tag"), {}};
    for (std::size_t i = 0; i < kPlacesOfPages.size(); ++i) {
      tag.bytes[i] = numbers_if_any(entry, kPlacesOfPages[i], slots);
    }
    history.tags.push_back(std::move(tag));
  }
  for (const Json& block : json.at("blocks")) history.blocks.push_back(block_of(block));
  for (const Json& policy : json.value("policies", Json::array())) {
    history.policies.push_back({policy.at("from_ns").get<double>() / 1e9, word(policy, "name")});
  }
}

bool is_even(const RunHistory& history) {
  const auto fits = [&](const std::vector<double>& values) { return values.size() == history.slots(); };
  const auto series_fits = [&](const RunHistory::Series& series) { return fits(series.values); };
  return history.slots() > 0 && history.slot_seconds > 0 && std::ranges::all_of(history.links, series_fits) &&
         std::ranges::all_of(history.stalls, series_fits) &&
         std::ranges::all_of(history.tags, [&](const auto& tag) { return std::ranges::all_of(tag.bytes, fits); });
}

std::string check_sums(const RunHistory& history) {
  const auto differ = [](const char* name, double sum, std::uint64_t figure) {
    return fmt::format("its figures do not add up: {} is {}, but its parts sum to {:.0f}", name, figure, sum);
  };
  for (std::size_t i = 0; i < kHistoryLinks.size(); ++i) {
    const std::uint64_t figure = history.figure("moves", kHistoryLinkSums[i]);
    if (history.links[i].sum() != static_cast<double>(figure)) {
      return differ(kHistoryLinkSums[i], history.links[i].sum(), figure);
    }
  }
  for (const auto& series : history.stalls) {
    const std::string name = series.name + "_ns";
    const std::uint64_t figure = history.figure("stall_time_by_cause", name.c_str());
    if (series.sum() != static_cast<double>(figure)) return differ(name.c_str(), series.sum(), figure);
  }
  return "";
}

}  // namespace

// The values are whole numbers below 2^53 (nine petabytes, or a hundred days), so the sum is exact.
double RunHistory::Series::sum() const { return std::accumulate(values.begin(), values.end(), 0.0); }

std::uint64_t RunHistory::figure(const char* group, const char* name) const {
  const Json figures = stats.value(group, Json::object());
  const auto found = figures.find(name);
  return found != figures.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

RunHistory with_slots(RunHistory history, std::size_t most) {
  const std::size_t each = (history.slots() + most - 1) / most;
  if (each <= 1) return history;
  const auto merge = [each](std::vector<double>& values, bool mean) {
    std::vector<double> merged;
    for (std::size_t first = 0; first < values.size(); first += each) {
      const std::size_t count = std::min(each, values.size() - first);
      const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
      const double sum = std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(count), 0.0);
      merged.push_back(mean ? sum / static_cast<double>(count) : sum);
    }
    values = std::move(merged);
  };
  for (auto& series : history.links) merge(series.values, false);
  for (auto& series : history.stalls) merge(series.values, false);
  for (auto& tag : history.tags) {
    for (auto& bytes : tag.bytes) merge(bytes, true);
  }
  history.slot_seconds *= static_cast<double>(each);
  return history;
}

std::string parse_history(const std::string& text, RunHistory& history) {
  if (text.empty()) return "empty: no process of the run used the device, or it was killed at once";
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("tessera_history")) {
    return "not a history; `tessera run --history FILE` writes one";
  }
  try {
    if (json.at("tessera_history") != kFormat) return "written by another version of Tessera";
    fill(json, history);
    if (!is_even(history)) return "its lists have different lengths";
    return check_sums(history);
  } catch (const nlohmann::json::exception& error) {
    return error.what();
  }
}

std::string parse_statistics(const std::string& text, RunHistory& history) {
  try {
    fill_stats(Json::parse(text), history);
    return "";
  } catch (const nlohmann::json::exception& error) {
    return error.what();
  }
}
