#include "plan_command.hpp"

PlanCommand::PlanCommand(CLI::App& app)
    : plan_(app.add_subcommand("plan", "plan memory beforehand, without a device")),
      arena_(plan_->add_subcommand("arena", "what each planner needs for blocks of known lives")) {
  plan_->require_subcommand(1);
  arena_->add_option("RECORDS", arena_options_.records, "CSV file with columns bytes,first,last")
      ->required();
  arena_->add_flag("--json", arena_options_.json, "print one JSON object");
}

int PlanCommand::run() const { return plan_arena_command(arena_options_); }
