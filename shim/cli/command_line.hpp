// Every subcommand of `tessera` with its options: what main() parses, and what completions and manual pages are made
// of.
//
// Thread safety: none.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "control_command.hpp"
#include "demo_command.hpp"
#include "doctor_command.hpp"
#include "fuzz_command.hpp"
#include "metrics_command.hpp"
#include "move_command.hpp"
#include "plan_command.hpp"
#include "policy_bench_command.hpp"
#include "recover_command.hpp"
#include "replay_command.hpp"
#include "report_command.hpp"
#include "run_options.hpp"
#include "share_command.hpp"
#include "stats_command.hpp"
#include "top_command.hpp"

struct CommandLine {
  // Adds them to `app`, which must outlive this.
  explicit CommandLine(CLI::App& app);

  CLI::App* run;
  CLI::App* demo;
  CLI::App* doctor;
  CLI::App* replay;
  CLI::App* bench;
  CLI::App* sleep;
  CLI::App* wake;
  CLI::App* control;
  CLI::App* share;
  CLI::App* top;
  CLI::App* metrics;
  CLI::App* stats;
  CLI::App* report;
  CLI::App* recover;
  CLI::App* fuzz;
  CLI::App* completion;
  PlanCommand plan;
  MoveOptions sleep_options;
  MoveOptions wake_options;
  ControlOptions control_options;
  ShareOptions share_options;
  TopOptions top_options;
  MetricsOptions metrics_options;
  StatsOptions stats_options;
  ReplayCommandOptions replay_options;
  FuzzOptions fuzz_options;
  PolicyBenchOptions policy_bench_options;
  ReportOptions report_options;
  RecoverOptions recover_options;
  RunOptions run_options;
  DemoOptions demo_options;
  DoctorOptions doctor_options;
  std::string shell;  // of `tessera completion SHELL`
};
