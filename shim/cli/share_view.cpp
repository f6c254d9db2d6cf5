#include "share_view.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include <fmt/core.h>

#include "columns.hpp"
#include "rounded.hpp"
#include "svg_plot.hpp"

namespace {

std::string part(std::uint64_t held, std::uint64_t share) {
  return fmt::format("{} / {}", rounded_bytes(held), rounded_bytes(share));
}

std::string budget(std::uint64_t bytes) { return bytes == 0 ? "-" : rounded_bytes(bytes); }

std::string state_in(const std::map<std::int64_t, std::string>& states, std::int64_t pid) {
  const auto found = states.find(pid);
  return found == states.end() ? "-" : found->second;
}

constexpr Column kShareColumns[] = {
    {"PID", 8},     {"PROGRAM", 16, true},     {"STATE", 10, true},
    {"WEIGHT", 6},  {"HOST HELD / SHARE", 21}, {"FILE HELD / SHARE", 21},
    {"WRITTEN", 9}, {"JOB", 24, true},
};

constexpr Column kDeviceColumns[] = {
    {"PID", 8},   {"PROGRAM", 16, true}, {"STATE", 10, true}, {"WEIGHT", 6}, {"DEVICE HELD / SHARE", 21},
    {"LIMIT", 9}, {"TURN", 6},           {"TURNS", 6},        {"WAITED", 9},
};

// The programs, and a line for all of them.
std::vector<Cells> share_lines(const ShareView& view) {
  std::vector<Cells> lines;
  for (const tessera_node_program& program : view.programs) {
    lines.push_back({std::to_string(program.pid), program.name, state_in(view.state_texts, program.pid),
                     std::to_string(program.weight), part(program.held.host, program.share.host),
                     part(program.held.file, program.share.file), rounded_bytes(program.held.writes),
                     program.job[0] == '\0' ? "-" : program.job});
  }
  lines.push_back({"", "all together", "", "", budget(view.budgets.host), budget(view.budgets.file),
                   budget(view.budgets.writes), ""});
  return lines;
}

const char* turn_name(tessera_node_turn turn) {
  switch (turn) {
    case TESSERA_NODE_TURN_HAS: return "has it";
    case TESSERA_NODE_TURN_WAITS: return "waits";
    case TESSERA_NODE_TURN_NONE: break;
  }
  return "-";
}

std::string seconds(std::uint64_t ns) { return fmt::format("{:.1f} s", static_cast<double>(ns) / 1e9); }

bool is_same_device(const tessera_node_device_program& a, const tessera_node_device_program& b) {
  return std::string_view(a.device) == b.device;
}

// The rest of the programs begins with those of a device.
std::span<const tessera_node_device_program> of_one_device(std::span<const tessera_node_device_program> rest) {
  const auto other = std::ranges::find_if_not(
      rest, [&](const tessera_node_device_program& program) { return is_same_device(program, rest.front()); });
  return rest.first(static_cast<std::size_t>(other - rest.begin()));
}

// Programs that were not started by `tessera run` are not asked; whether they use the device is in the ledger.
std::string state_on_device(const ShareView& view, const tessera_node_device_program& program) {
  const auto asked = view.state_texts.find(program.pid);
  if (asked != view.state_texts.end()) return asked->second;
  return program.active != 0 ? "active" : "idle";
}

std::string device_title(const tessera_node_device_program& first) {
  std::string title = fmt::format("device {}, {}", first.device, rounded_bytes(first.total));
  if (first.budget != 0) title += fmt::format(", of which all together may hold {}", rounded_bytes(first.budget));
  return title;
}

std::vector<Cells> device_lines(const ShareView& view, std::span<const tessera_node_device_program> programs) {
  std::vector<Cells> lines;
  for (const tessera_node_device_program& program : programs) {
    lines.push_back({std::to_string(program.pid), program.name, state_on_device(view, program),
                     std::to_string(program.weight), part(program.held, program.share), budget(program.limit),
                     turn_name(program.turn), std::to_string(program.turns), seconds(program.waited_ns)});
  }
  return lines;
}

// Calls visit(programs) for each device.
template <class Visit>
void for_each_device(const ShareView& view, Visit visit) {
  for (std::span<const tessera_node_device_program> rest(view.device_programs); !rest.empty();) {
    const auto programs = of_one_device(rest);
    visit(programs);
    rest = rest.subspan(programs.size());
  }
}

std::string device_tables(const ShareView& view) {
  std::string tables;
  for_each_device(view, [&](std::span<const tessera_node_device_program> programs) {
    tables += fmt::format("\n{}\n{}", device_title(programs.front()), text_header(kDeviceColumns));
    for (const Cells& cells : device_lines(view, programs)) tables += text_line(kDeviceColumns, cells);
  });
  return tables;
}

nlohmann::json devices_json(const ShareView& view) {
  nlohmann::json devices = nlohmann::json::array();
  for_each_device(view, [&](std::span<const tessera_node_device_program> programs) {
    nlohmann::json all = nlohmann::json::array();
    for (const tessera_node_device_program& program : programs) all.push_back(device_share_json(program));
    devices.push_back({{"device", programs.front().device},
                       {"total", programs.front().total},
                       {"budget", programs.front().budget},
                       {"programs", all}});
  });
  return devices;
}

}  // namespace

std::string device_share_text(const tessera_node_device_program& program) {
  std::string text = fmt::format("holds {} of {}, limit {}", rounded_bytes(program.held), rounded_bytes(program.share),
                                 budget(program.limit));
  if (program.turn == TESSERA_NODE_TURN_HAS) text += ", has its turn";
  if (program.turn == TESSERA_NODE_TURN_WAITS) text += ", waits for its turn";
  if (program.turns == 0 && program.waited_ns == 0) return text;
  return text + fmt::format(", turns {}, waited {}", program.turns, seconds(program.waited_ns));
}

nlohmann::json device_share_json(const tessera_node_device_program& program) {
  constexpr std::array kTurns{"none", "has", "waits"};
  return {{"pid", program.pid},
          {"pid_namespace", program.pid_namespace},
          {"name", program.name},
          {"weight", program.weight},
          {"active", program.active != 0},
          {"device_held", program.held},
          {"device_wanted", program.wanted},
          {"device_share", program.share},
          {"device_limit", program.limit},
          {"turn", kTurns.at(program.turn)},
          {"turns", program.turns},
          {"turn_left_ns", program.turn_left_ns},
          {"waited_ns", program.waited_ns}};
}

std::string share_table(const ShareView& view) {
  if (view.programs.empty() && view.device_programs.empty()) return "no program shares the machine's memory\n";
  std::string table = text_header(kShareColumns);
  for (const Cells& cells : share_lines(view)) table += text_line(kShareColumns, cells);
  return table + device_tables(view);
}

std::string share_html_tables(const ShareView& view) {
  std::string tables = html_table(kShareColumns, share_lines(view));
  for_each_device(view, [&](std::span<const tessera_node_device_program> programs) {
    tables += "<h3>" + escaped(device_title(programs.front())) + "</h3>\n" +
              html_table(kDeviceColumns, device_lines(view, programs));
  });
  return tables;
}

nlohmann::json share_json(const ShareView& view) {
  nlohmann::json programs = nlohmann::json::array();
  for (const tessera_node_program& program : view.programs) {
    const auto state = view.states.find(program.pid);
    programs.push_back({{"pid", program.pid},
                        {"pid_namespace", program.pid_namespace},
                        {"name", program.name},
                        {"job", program.job[0] == '\0' ? nlohmann::json() : nlohmann::json(program.job)},
                        {"state", state == view.states.end() ? nlohmann::json() : nlohmann::json(state->second)},
                        {"weight", program.weight},
                        {"host_held", program.held.host},
                        {"host_wanted", program.wanted.host},
                        {"host_share", program.share.host},
                        {"file_held", program.held.file},
                        {"file_wanted", program.wanted.file},
                        {"file_share", program.share.file},
                        {"written", program.held.writes}});
  }
  return {{"host_budget", view.budgets.host},
          {"file_budget", view.budgets.file},
          {"write_budget_left", view.budgets.writes},
          {"programs", programs},
          {"devices", devices_json(view)}};
}
