#include "node_programs.hpp"

#include <cstdlib>
#include <string>

#include "node_reader.hpp"
#include "tessera/control.h"

ShareView share_view_of_environment() {
  const char* const node = std::getenv("TESSERA_NODE");
  const std::string name = node == nullptr || *node == '\0' ? "default" : node;
  ShareView view;
  if (read_node(name, view.programs, view.budgets) != TESSERA_OK) return {};
  return view;
}

void match(ShareView& view, std::vector<TopRow>& rows) {
  tessera_process_identity own{};
  if (tessera_process_identity_of(0, &own) != TESSERA_OK) return;
  for (TopRow& row : rows) {
    for (const tessera_node_program& program : view.programs) {
      if (program.pid != row.pid || program.pid_namespace != own.pid_namespace) continue;
      if (program.wanted.host != 0) row.host_share = program.share.host;
      view.states[row.pid] = program_state(row);
      view.state_texts[row.pid] = program_state_text(row);
    }
  }
}
