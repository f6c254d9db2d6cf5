#include "plan_command.hpp"

PlanCommand::PlanCommand(CLI::App& app)
    : plan_(app.add_subcommand("plan", "plan memory ahead of time, without a device")),
      arena_(plan_->add_subcommand("arena", "memory that each planner needs for blocks with known lifetimes")),
      split_(plan_->add_subcommand("split", "split a trace or graph into balanced parts for several devices")) {
  plan_->require_subcommand(1);
  arena_->add_option("RECORDS", arena_options_.records, "CSV file with columns bytes,first,last")->required();
  arena_->add_flag("--json", arena_options_.json, "print one JSON object");
  split_->add_option("FILE", split_options_.input, "a trace, or a graph in JSON")->required();
  split_->add_option("--parts", split_options_.parts, "number of accelerators; default: as given in the graph")
      ->check(CLI::Range(1, 1024));
  split_->add_option("--part-memory", split_options_.part_memory, "memory of each accelerator, as 40GiB")
      ->type_name("SIZE");
  split_->add_option("--bandwidth", split_options_.bandwidth, "bandwidth between parts of a trace, bytes per second")
      ->check(CLI::Range(1.0, 1e15));
  split_->add_flag("--linear", split_options_.linear, "consider only cuts along one order of the graph");
  split_->add_flag("--json", split_options_.json, "print one JSON object");
}

int PlanCommand::run() const {
  return split_->parsed() ? plan_split_command(split_options_) : plan_arena_command(arena_options_);
}
