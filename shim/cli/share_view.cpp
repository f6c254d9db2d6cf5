#include "share_view.hpp"

#include <fmt/format.h>

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

}  // namespace

std::string share_table(const ShareView& view) {
  if (view.programs.empty()) return "no program shares the machine's memory\n";
  std::string table = fmt::format("{:>8} {:<16} {:<10} {:>6} {:>21} {:>21} {:>9}\n", "PID", "PROGRAM", "STATE",
                                  "WEIGHT", "HOST HELD / SHARE", "FILE HELD / SHARE", "WRITTEN");
  for (const tessera_node_program& program : view.programs) {
    table += fmt::format("{:>8} {:<16} {:<10} {:>6} {:>21} {:>21} {:>9}\n", program.pid, program.name,
                         state_in(view.state_texts, program.pid), program.weight,
                         part(program.held.host, program.share.host), part(program.held.file, program.share.file),
                         rounded_bytes(program.held.writes));
  }
  return table + fmt::format("{:>8} {:<16} {:<10} {:>6} {:>21} {:>21} {:>9}\n", "", "all together", "", "",
                             budget(view.budgets.host), budget(view.budgets.file), budget(view.budgets.writes));
}

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
