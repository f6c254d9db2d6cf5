#include "top_command.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "live_sampler.hpp"
#include "node_reader.hpp"
#include "tessera/control.h"

namespace {

using std::chrono::duration;

void print(const std::vector<TopRow>& rows, bool json) {
  if (json) {
    fmt::print("{}\n", top_json_line(rows));
  } else {
    fmt::print("{}{}", ::isatty(STDOUT_FILENO) != 0 ? "\033[H\033[J" : "", top_table(rows));
  }
  std::fflush(stdout);
}

// Of programs in the ledger that this environment names, and in this namespace of process ids.
std::vector<TopRow> with_shares(std::vector<TopRow> rows) {
  const char* const node = std::getenv("TESSERA_NODE");
  tessera_process_identity own{};
  tessera_node_amounts budgets{};
  std::vector<tessera_node_program> programs;
  const std::string name = node == nullptr || *node == '\0' ? "default" : node;
  if (tessera_process_identity_of(0, &own) != TESSERA_OK || read_node(name, programs, budgets) != TESSERA_OK)
    return rows;
  for (TopRow& row : rows) {
    for (const tessera_node_program& program : programs) {
      const bool same = program.pid == row.pid && program.pid_namespace == own.pid_namespace;
      if (same && program.wanted.host != 0) row.host_share = program.share.host;
    }
  }
  return rows;
}

}  // namespace

int top_command(const TopOptions& options) {
  const duration<double> interval(options.interval);
  const auto wanted = interval + 2 * kLongestAnswer;
  LiveSampler sampler;
  await_answers(wanted);
  sampler.look(wanted);
  do {
    std::this_thread::sleep_for(interval);
    // A single sample waits for figures that cover the whole interval. A continuous display shows a stopped program as
    // it last was.
    if (options.once) await_answers(wanted);
    print(with_shares(sampler.look(wanted)), options.json);
  } while (!options.once && std::ferror(stdout) == 0);
  return 0;
}
