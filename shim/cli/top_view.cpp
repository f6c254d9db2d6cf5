#include "top_view.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "columns.hpp"
#include "rounded.hpp"
#include "share_view.hpp"

namespace {

// 0 if the counter decreased.
double per_second(const TopRow& before, const TopRow& after, const char* group, const char* name, double seconds) {
  const std::uint64_t old = top_figure(before, group, name), now = top_figure(after, group, name);
  return now < old ? 0 : static_cast<double>(now - old) / seconds;
}

// The figures of the group by name, without the unit suffix.
std::map<std::string, double> shares_by_cause(const TopRow& before, const TopRow& after, double seconds) {
  constexpr const char* kGroup = "stall_time_by_cause";
  std::map<std::string, double> shares;
  const auto found = after.stats.find(kGroup);
  if (found == after.stats.end()) return shares;
  for (const auto& [name, value] : found->items()) {
    const double share = per_second(before, after, kGroup, name.c_str(), seconds) / 1e9;
    if (share > 0) shares[name.substr(0, name.rfind("_ns"))] = share;
  }
  return shares;
}

std::string main_cause(const TopRates& rates) {
  const auto& shares = rates.stall_share_by_cause;
  const auto main = std::ranges::max_element(shares, {}, [](const auto& share) { return share.second; });
  return main == shares.end() ? "-" : main->first;
}

std::string tier(const TopRow& row, const char* kind) {
  return fmt::format("{} / {}", rounded_bytes(top_figure(row, kind, fmt::format("{}_used", kind).c_str())),
                     rounded_bytes(top_figure(row, kind, fmt::format("{}_capacity", kind).c_str())));
}

// A program that launches often is not idle between two launches.
constexpr std::uint64_t kIdleSeconds = 2;

std::uint64_t idle_seconds(const TopRow& row) { return top_figure(row, "idle", "idle_ns") / 1'000'000'000; }

std::string speed(double bytes) { return rounded_bytes(static_cast<std::uint64_t>(bytes)); }

constexpr Column kTopColumns[] = {
    {"PID", 8},          {"PROGRAM", 15, true},
    {"STATE", 10, true}, {"DEVICE", 21},
    {"HOST", 21},        {"SHARE", 9},
    {"FILE", 21},        {"IN/s", 9},
    {"OUT/s", 9},        {"READ/s", 9},
    {"WRITE/s", 9},      {"LAUNCH/s", 9},
    {"STALL", 6},        {"WAITING FOR", 11, true},
    {"EXPOSED", 9},      {"OUTSIDE", 9},
};

Cells cells_of(const TopRow& row) {
  Cells cells = {std::to_string(row.pid), row.name.substr(0, 15), program_state_text(row),
                 tier(row, "device"),     tier(row, "host"),      row.host_share ? rounded_bytes(*row.host_share) : "-",
                 tier(row, "file")};
  Cells rates(7, "-");
  if (row.rates) {
    const TopRates& r = *row.rates;
    rates = {speed(r.bytes_in),
             speed(r.bytes_out),
             speed(r.file_read),
             speed(r.file_written),
             fmt::format("{:.0f}", r.launches),
             fmt::format("{:.0f}%", 100 * r.stall_share),
             main_cause(r)};
  }
  cells.insert(cells.end(), rates.begin(), rates.end());
  cells.push_back(rounded_bytes(top_figure(row, "held", "exposed_bytes")));
  cells.push_back(rounded_bytes(top_figure(row, "outside", "outside_bytes")));
  return cells;
}

// The line below a program with the live bytes of its tags, largest first; "" if no block has a tag.
std::string tags_of(const TopRow& row) {
  constexpr std::size_t kMostShown = 6;
  std::vector<std::pair<std::uint64_t, std::string>> tags;
  const auto found = row.stats.find("live_bytes_by_tag");
  if (found == row.stats.end() || !found->is_object()) return "";
  for (const auto& [name, bytes] : found->items()) {
    std::string shown = name;
    std::ranges::replace_if(
        shown, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }, '?');
    if (bytes.is_number_unsigned() && bytes != 0U) tags.emplace_back(bytes.get<std::uint64_t>(), shown);
  }
  if (tags.empty() || (tags.size() == 1 && tags.front().second == "untagged")) return "";
  std::ranges::sort(tags, std::greater<>());
  std::string line = std::string(9, ' ') + "live:";
  for (std::size_t i = 0; i < std::min(tags.size(), kMostShown); ++i) {
    line += fmt::format("{} {} {}", i == 0 ? "" : ",", tags[i].second, rounded_bytes(tags[i].first));
  }
  if (tags.size() > kMostShown) line += fmt::format(", {} more", tags.size() - kMostShown);
  return line + "\n";
}

// The lines below a program with its shares of devices.
std::string devices_of(const TopRow& row) {
  std::string lines;
  for (const tessera_node_device_program& device : row.devices) {
    lines += fmt::format("{:9}device {:.8}: {}\n", "", device.device, device_share_text(device));
  }
  return lines;
}

nlohmann::json json_of(const TopRow& row) {
  nlohmann::json one = {
      {"pid", row.pid},     {"name", row.name}, {"state", program_state(row)}, {"written_ns", row.written_ns},
      {"stats", row.stats}, {"rates", nullptr}};
  one["host_share"] = row.host_share ? nlohmann::json(*row.host_share) : nlohmann::json();
  one["device_shares"] = nlohmann::json::array();
  for (const tessera_node_device_program& device : row.devices) {
    nlohmann::json share = device_share_json(device);
    share["device"] = device.device;
    one["device_shares"].push_back(share);
  }
  if (!row.rates) return one;
  const TopRates& r = *row.rates;
  one["rates"] = {{"seconds", r.seconds},
                  {"bytes_in_per_s", r.bytes_in},
                  {"bytes_out_per_s", r.bytes_out},
                  {"bytes_file_read_per_s", r.file_read},
                  {"bytes_file_written_per_s", r.file_written},
                  {"launches_per_s", r.launches},
                  {"stall_share", r.stall_share},
                  {"stall_share_by_cause", r.stall_share_by_cause}};
  return one;
}

}  // namespace

std::uint64_t top_figure(const TopRow& row, const char* group, const char* name) {
  const auto figures = row.stats.find(group);
  if (figures == row.stats.end() || !figures->is_object()) return 0;
  const auto found = figures->find(name);
  const bool counts = found != figures->end() && found->is_number_integer() && *found >= 0;
  return counts ? found->get<std::uint64_t>() : 0;
}

const char* program_state(const TopRow& row) {
  if (top_figure(row, "idle", "asleep") != 0) return "asleep";
  return idle_seconds(row) < kIdleSeconds ? "active" : "idle";
}

std::string program_state_text(const TopRow& row) {
  const std::string state = program_state(row);
  const std::uint64_t seconds = idle_seconds(row), minutes = seconds / 60, hours = minutes / 60;
  if (state == "active") return state;
  if (seconds < 60) return fmt::format("{} {}s", state, seconds);
  if (minutes < 60) return fmt::format("{} {}m", state, minutes);
  return hours < 24 ? fmt::format("{} {}h", state, hours) : fmt::format("{} {}d", state, hours / 24);
}

std::optional<TopRates> rates_between(const TopRow& before, const TopRow& after) {
  const bool same = before.pid == after.pid && after.written_ns > before.written_ns &&
                    top_figure(after, "uses", "launches") >= top_figure(before, "uses", "launches");
  if (!same) return std::nullopt;
  const double seconds = static_cast<double>(after.written_ns - before.written_ns) / 1e9;
  const auto rate = [&](const char* group, const char* name) {
    return per_second(before, after, group, name, seconds);
  };
  return TopRates{seconds,
                  rate("moves", "bytes_in"),
                  rate("moves", "bytes_out"),
                  rate("moves", "bytes_file_read"),
                  rate("moves", "bytes_file_written"),
                  rate("uses", "launches"),
                  rate("waits", "stall_ns") / 1e9,
                  shares_by_cause(before, after, seconds)};
}

std::string top_table(const std::vector<TopRow>& rows) {
  if (rows.empty()) return "no program of this user is running under `tessera run`\n";
  std::string table = text_header(kTopColumns);
  for (const TopRow& row : rows) table += text_line(kTopColumns, cells_of(row)) + devices_of(row) + tags_of(row);
  return table;
}

std::string top_html_table(const std::vector<TopRow>& rows) {
  std::vector<Cells> lines;
  for (const TopRow& row : rows) lines.push_back(cells_of(row));
  return html_table(kTopColumns, lines);
}

nlohmann::json top_json(const std::vector<TopRow>& rows) {
  nlohmann::json processes = nlohmann::json::array();
  for (const TopRow& row : rows) processes.push_back(json_of(row));
  return {{"processes", processes}};
}

std::string top_json_line(const std::vector<TopRow>& rows) {
  return top_json(rows).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}
