// `tessera plan ...`: plans that need no device, each a subcommand.
//
// Thread safety: none.
#pragma once

#include <CLI/CLI.hpp>

#include "plan_arena.hpp"
#include "plan_split.hpp"

class PlanCommand {
 public:
  explicit PlanCommand(CLI::App& app);

  bool was_called() const { return plan_->parsed(); }
  // Returns the exit code of the parsed subcommand. REQUIRES: was_called().
  int run() const;

 private:
  CLI::App* plan_;
  CLI::App* arena_;
  CLI::App* split_;
  PlanArenaOptions arena_options_;
  PlanSplitOptions split_options_;
};
