#include "share_command.hpp"

#include <chrono>

#include <fmt/format.h>

#include "live_sampler.hpp"
#include "node_reader.hpp"
#include "share_view.hpp"
#include "tessera/control.h"
#include "tessera/tessera.h"

namespace {

constexpr std::uint32_t kLargestWeight = 10'000;

int not_shared(int code, const std::string& why) {
  fmt::print(stderr, "tessera: share: {}\n", why);
  return code;
}

// Only of programs in this namespace of process ids, which `tessera run` has started.
void add_states(ShareView& view) {
  constexpr std::chrono::duration<double> kWanted{2};
  tessera_process_identity own{};
  if (tessera_process_identity_of(0, &own) != TESSERA_OK) return;
  await_answers(kWanted);
  LiveSampler sampler;
  for (const TopRow& row : sampler.look(kWanted)) {
    for (const tessera_node_program& program : view.programs) {
      if (program.pid != row.pid || program.pid_namespace != own.pid_namespace) continue;
      view.states[row.pid] = program_state(row);
      view.state_texts[row.pid] = program_state_text(row);
    }
  }
}

}  // namespace

ShareOptions::ShareOptions(CLI::App& app) {
  CLI::Option* const of = app.add_option("PID", pid, "process id of the program whose weight is changed");
  CLI::Option* const to = app.add_option("--weight", weight, "its new weight");
  of->check(CLI::PositiveNumber)->needs(to);
  to->check(CLI::Range(1U, kLargestWeight))->needs(of);
  app.add_option("--node", node, "name of the ledger (default)")->envname("TESSERA_NODE")->type_name("NAME");
  app.add_flag("--json", json, "print one JSON object");
}

int share_command(const ShareOptions& options) {
  if (options.pid != 0) {
    const tessera_result set = tessera_node_set_weight(options.node.c_str(), options.pid, options.weight);
    return set == TESSERA_OK ? 0 : not_shared(1, tessera_last_error());
  }
  ShareView view;
  const tessera_result read = read_node(options.node, view.programs, view.budgets);
  if (read != TESSERA_OK && read != TESSERA_NOT_FOUND) return not_shared(1, tessera_last_error());
  if (!view.programs.empty()) add_states(view);
  fmt::print("{}", options.json ? share_json(view).dump() + "\n" : share_table(view));
  return 0;
}
