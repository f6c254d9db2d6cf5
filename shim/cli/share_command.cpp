#include "share_command.hpp"

#include <chrono>

#include <fmt/format.h>

#include "live_sampler.hpp"
#include "node_programs.hpp"
#include "node_reader.hpp"
#include "share_view.hpp"
#include "tessera/tessera.h"

namespace {

constexpr std::uint32_t kLargestWeight = 10'000;

int not_shared(int code, const std::string& why) {
  fmt::print(stderr, "tessera: share: {}\n", why);
  return code;
}

void add_states(ShareView& view) {
  constexpr std::chrono::duration<double> kWanted{2};
  await_answers(kWanted);
  LiveSampler sampler;
  std::vector<TopRow> rows = sampler.look(kWanted);
  match(view, rows);
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
