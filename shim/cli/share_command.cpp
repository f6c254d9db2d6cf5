#include "share_command.hpp"

#include <chrono>

#include <fmt/core.h>

#include "live_sampler.hpp"
#include "node_programs.hpp"
#include "node_reader.hpp"
#include "process_id.hpp"
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

int change(const ShareOptions& options) {
  if (options.weight == 0 && options.device_limit.empty()) {
    return not_shared(2, "a process id is given, but neither --weight nor --device-limit; without it all are listed");
  }
  std::uint64_t limit = 0;
  const bool limits = !options.device_limit.empty();
  if (limits && options.device_limit != "off") {
    if (tessera_parse_size(options.device_limit.c_str(), &limit) != TESSERA_OK) {
      return not_shared(2, fmt::format("--device-limit: {}", tessera_last_error()));
    }
    if (limit == 0)
      return not_shared(2, "--device-limit: nothing runs without device memory; off sets what it was started with");
  }
  const char* const node = options.node.c_str();
  tessera_result set = TESSERA_OK;
  if (options.weight != 0) set = tessera_node_set_weight(node, options.pid, options.weight);
  if (set == TESSERA_OK && limits) {
    set = tessera_node_set_device_limit(node, options.pid, options.device.c_str(), limit);
  }
  if (set == TESSERA_OK) return 0;
  const char* const next = set == TESSERA_NOT_FOUND ? "; `tessera share` lists the programs that share" : "";
  return not_shared(1, std::string(tessera_last_error()) + next);
}

}  // namespace

ShareOptions::ShareOptions(CLI::App& app) {
  CLI::Option* const of = app.add_option("PID", pid, "process id of the program that is changed");
  of->check(is_process_id());
  app.add_option("--weight", weight, "its new weight")->check(CLI::Range(1U, kLargestWeight))->needs(of);
  CLI::Option* const limit = app.add_option("--device-limit", device_limit,
                                            "what it may hold of a device at most, such as 8GiB; off: what "
                                            "it was started with");
  limit->needs(of)->type_name("SIZE");
  app.add_option("--device", device, "only of the device whose UUID begins so")->needs(limit)->type_name("UUID");
  app.add_option("--node", node, "name of the ledger (default)")->envname("TESSERA_NODE")->type_name("NAME");
  app.add_flag("--json", json, "print one JSON object");
}

int share_command(const ShareOptions& options) {
  if (options.pid != 0) return change(options);
  ShareView view;
  tessera_result read = read_node(options.node, view.programs, view.budgets);
  if (read == TESSERA_OK || read == TESSERA_NOT_FOUND) read = read_devices(options.node, view.device_programs);
  if (read != TESSERA_OK) return not_shared(1, tessera_last_error());
  if (!view.programs.empty() || !view.device_programs.empty()) add_states(view);
  fmt::print("{}", options.json ? share_json(view).dump() + "\n" : share_table(view));
  return 0;
}
