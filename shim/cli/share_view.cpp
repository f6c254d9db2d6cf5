#include "share_view.hpp"

#include <fmt/format.h>

#include "columns.hpp"
#include "rounded.hpp"

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
    {"WRITTEN", 9},
};

// The programs, and a line for all of them.
std::vector<Cells> share_lines(const ShareView& view) {
  std::vector<Cells> lines;
  for (const tessera_node_program& program : view.programs) {
    lines.push_back({fmt::to_string(program.pid), program.name, state_in(view.state_texts, program.pid),
                     fmt::to_string(program.weight), part(program.held.host, program.share.host),
                     part(program.held.file, program.share.file), rounded_bytes(program.held.writes)});
  }
  lines.push_back(
      {"", "all together", "", "", budget(view.budgets.host), budget(view.budgets.file), budget(view.budgets.writes)});
  return lines;
}

}  // namespace

std::string share_table(const ShareView& view) {
  if (view.programs.empty()) return "no program shares the machine's memory\n";
  std::string table = text_header(kShareColumns);
  for (const Cells& cells : share_lines(view)) table += text_line(kShareColumns, cells);
  return table;
}

std::string share_html_table(const ShareView& view) { return html_table(kShareColumns, share_lines(view)); }

nlohmann::json share_json(const ShareView& view) {
  nlohmann::json programs = nlohmann::json::array();
  for (const tessera_node_program& program : view.programs) {
    const auto state = view.states.find(program.pid);
    programs.push_back({{"pid", program.pid},
                        {"pid_namespace", program.pid_namespace},
                        {"name", program.name},
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
          {"programs", programs}};
}
