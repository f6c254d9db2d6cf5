#include "plan_command.hpp"

PlanCommand::PlanCommand(CLI::App& app)
    : plan_(app.add_subcommand("plan", "plan memory beforehand, without a device")),
      arena_(plan_->add_subcommand("arena", "what each planner needs for blocks of known lives")),
      split_(plan_->add_subcommand("split", "parts for several devices, none loaded too much")) {
  plan_->require_subcommand(1);
  arena_->add_option("RECORDS", arena_options_.records, "CSV file with columns bytes,first,last")
      ->required();
  arena_->add_flag("--json", arena_options_.json, "print one JSON object");
  split_->add_option("FILE", split_options_.input, "a trace, or a graph in JSON")->required();
  split_->add_option("--parts", split_options_.parts, "accelerators; default: what the graph says")
      ->check(CLI::Range(1, 1024));
  split_->add_option("--part-memory", split_options_.part_memory, "of each accelerator, as 40GiB")
      ->type_name("SIZE");
  split_
      ->add_option("--bandwidth", split_options_.bandwidth,
                   "bytes per second between parts of a trace")
      ->check(CLI::PositiveNumber);
  split_->add_flag("--linear", split_options_.linear, "cut along one order of the graph only");
  split_->add_flag("--json", split_options_.json, "print one JSON object");
}

int PlanCommand::run() const {
  return split_->parsed() ? plan_split_command(split_options_) : plan_arena_command(arena_options_);
}
