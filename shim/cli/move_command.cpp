#include "move_command.hpp"

#include <fmt/core.h>

#include "control_client.hpp"
#include "process_id.hpp"
#include "rounded.hpp"

namespace {

constexpr std::size_t kMostTag = 31;

}  // namespace

MoveOptions::MoveOptions(CLI::App& app) {
  app.add_option("PID", pid, "process id of a program started by `tessera run`")->required()->check(is_process_id());
  tag_given = app.add_option("TAG", tag,
                             "tag of the blocks to move; \"\" for those without one "
                             "(default: all blocks)");
  app.add_option("--timeout", timeout_seconds, "seconds to wait for completion")->check(CLI::Range(1, 86400));
  app.add_flag("--json", json, "print one JSON object");
}

int move_command(const std::string& verb, const MoveOptions& options) {
  if (options.tag.size() > kMostTag) {
    fmt::print(stderr, "tessera: {}: a tag has at most {} characters\n", verb, kMostTag);
    return 2;
  }
  const bool all = options.tag_given->count() == 0;
  const ControlReply reply =
      ask_program(options.pid, verb + (all ? " *" : " :" + options.tag), options.timeout_seconds);
  if (!reply.problem.empty()) {
    fmt::print(stderr, "tessera: {}: {}\n", verb, reply.problem);
    return 1;
  }
  if (options.json) {
    fmt::print("{{\"moved_bytes\":{},\"stayed_bytes\":{}}}\n", reply.moved_bytes, reply.stayed_bytes);
  } else {
    fmt::print("{} {} device memory, {} {}\n", rounded_bytes(reply.moved_bytes),
               verb == "sleep" ? "evicted from" : "fetched to", rounded_bytes(reply.stayed_bytes),
               verb == "sleep" ? "stayed there" : "not fetched");
  }
  return 0;
}
