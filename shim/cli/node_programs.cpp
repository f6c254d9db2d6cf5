#include "node_programs.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>

#include "node_reader.hpp"
#include "tessera/control.h"

ShareView share_view_of_environment() {
  const char* const node = std::getenv("TESSERA_NODE");
  const std::string name = node == nullptr || *node == '\0' ? "default" : node;
  ShareView view;
  // `tessera share` says what is wrong with a ledger that cannot be read.
  if (read_node(name, view.programs, view.budgets) != TESSERA_OK) view.programs.clear();
  if (read_devices(name, view.device_programs) != TESSERA_OK) view.device_programs.clear();
  return view;
}

void match(ShareView& view, std::vector<TopRow>& rows) {
  tessera_process_identity own{};
  if (tessera_process_identity_of(0, &own) != TESSERA_OK) return;
  for (TopRow& row : rows) {
    const auto is_it = [&](const auto& program) {
      return program.pid == row.pid && program.pid_namespace == own.pid_namespace;
    };
    const auto program = std::ranges::find_if(view.programs, is_it);
    if (program != view.programs.end() && program->wanted.host != 0) row.host_share = program->share.host;
    std::ranges::copy_if(view.device_programs, std::back_inserter(row.devices), is_it);
    if (program == view.programs.end() && row.devices.empty()) continue;
    view.states[row.pid] = program_state(row);
    view.state_texts[row.pid] = program_state_text(row);
  }
}
