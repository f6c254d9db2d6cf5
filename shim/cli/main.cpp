// The command line: parses the arguments, calls one command, returns its exit code.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "control_client.hpp"
#include "demo_command.hpp"
#include "doctor_command.hpp"
#include "fuzz_command.hpp"
#include "installation.hpp"
#include "linkable_installation.hpp"
#include "metrics_command.hpp"
#include "move_command.hpp"
#include "plan_command.hpp"
#include "policy_bench_command.hpp"
#include "recover_command.hpp"
#include "replay_command.hpp"
#include "report_command.hpp"
#include "run_command.hpp"
#include "stats_command.hpp"
#include "tessera/tessera.h"
#include "top_command.hpp"
#include "wrong_use.hpp"

namespace {

// Help and version are not errors; everything else is one line and exit code 2.
int finish_parsing(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
  fmt::print(stderr, "tessera: {}\n", error.what());
  return kWrongUse;
}

struct Renamed {
  std::string_view old_name, name;
};
constexpr Renamed kRenamed[] = {{"torture", "fuzz"}, {"league", "policy-bench"}};

struct CommandLine {
  explicit CommandLine(CLI::App& app)
      : run(app.add_subcommand("run", "run a program with a heap larger than the GPU")),
        demo(app.add_subcommand("demo", "train a network on a device a third of its size")),
        doctor(app.add_subcommand("doctor", "report what this machine supports, and what to fix")),
        replay(app.add_subcommand("replay", "replay a trace on a simulated machine, in virtual time")),
        bench(app.add_subcommand("policy-bench", "compare all policies on traces, under several budgets")),
        sleep(app.add_subcommand("sleep", "evict a running program's blocks from device memory")),
        wake(app.add_subcommand("wake", "fetch them back")),
        top(app.add_subcommand("top", "show this user's programs under Tessera, live")),
        metrics(app.add_subcommand("metrics", "print the figures of this user's programs for Prometheus")),
        stats(app.add_subcommand("stats", "show the statistics of a run, even if it was killed")),
        report(app.add_subcommand("report", "write an HTML report of a run")),
        recover(app.add_subcommand("recover", "restore the reports of a program that was killed")),
        fuzz(app.add_subcommand("fuzz", "fault-injection fuzzing by seed, in virtual time")),
        plan(app),
        sleep_options(*sleep),
        wake_options(*wake) {
    run_options.add_to(*run);
    replay_options.add_to(*replay);
    fuzz_options.add_to(*fuzz);
    policy_bench_options.add_to(*bench);
    report_options.add_to(*report);
    recover_options.add_to(*recover);
    stats->add_option("file", stats_options.file, "file written by `tessera run --stats FILE`")
        ->type_name("FILE")
        ->required();
    stats->add_flag("--json", stats_options.json, "print one JSON object");
    top->add_flag("--once", top_options.once, "print one update (takes about two seconds) and exit");
    top->add_flag("--json", top_options.json, "print each update as one JSON object per line");
    top->add_option("--interval", top_options.interval, "seconds between updates (1)")->check(CLI::Range(0.5, 3600.0));
    metrics->add_option("--serve", metrics_options.serve, "answer GET /metrics at this loopback address")
        ->type_name("ADDRESS:PORT");
    run->footer(
        "Usage: tessera run [options] -- program [arguments]\n"
        "Every option but --no-control is also an environment variable: "
        "TESSERA_DEVICE_MEMORY=4GiB.");
    demo->add_flag("--software", demo_options.software, "use the software device even if there is a GPU");
    demo->add_flag("--json", demo_options.json, "print one JSON object");
    demo->add_option("--steps", demo_options.steps, "training steps")->check(CLI::Range(1, 100000));
    demo->add_option("--file-dir", demo_options.file_dir, "directories for the spill files")->type_name("DIR[:DIR...]");
    doctor->add_flag("--json", doctor_options.json, "print one JSON object");
    doctor->add_flag("--software", doctor_options.software, "check the software device instead");
    doctor->add_option("--file-dir", doctor_options.file_dir, "directories for the spill files")
        ->envname("TESSERA_FILE_DIR")
        ->type_name("DIR[:DIR...]");
  }

  CLI::App* run;
  CLI::App* demo;
  CLI::App* doctor;
  CLI::App* replay;
  CLI::App* bench;
  CLI::App* sleep;
  CLI::App* wake;
  CLI::App* top;
  CLI::App* metrics;
  CLI::App* stats;
  CLI::App* report;
  CLI::App* recover;
  CLI::App* fuzz;
  PlanCommand plan;
  MoveOptions sleep_options;
  MoveOptions wake_options;
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
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  std::vector<std::string> program;
  for (const auto& [old_name, name] : kRenamed) {
    if (words.empty() || words[0] != old_name) continue;
    fmt::print(stderr, "tessera: `tessera {}` is now `tessera {}`\n", old_name, name);
    return kWrongUse;
  }
  if (!words.empty() && words[0] == "run") {
    // The program's own arguments must not be parsed here.
    SplitLine line = split_at_program({words.begin() + 1, words.end()});
    program = std::move(line.program);
    words = {"run"};
    words.insert(words.end(), line.options.begin(), line.options.end());
  }
  CLI::App app("Tessera: CUDA programs with a heap larger than the GPU", "tessera");
  app.set_version_flag("--version", std::string("tessera ") + tessera_version());
  app.require_subcommand(1);
  CommandLine commands(app);
  if (words.empty()) {
    fmt::print("{}", app.help());
    return kWrongUse;
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    return finish_parsing(app, error);
  }
  if (commands.plan.was_called()) return commands.plan.run();
  if (*commands.sleep) return move_command("sleep", commands.sleep_options);
  if (*commands.wake) return move_command("wake", commands.wake_options);
  if (*commands.stats) return stats_command(commands.stats_options);
  if (*commands.recover) return recover_command(commands.recover_options);
  if (*commands.report) return report_command(commands.report_options);
  if (*commands.metrics) return metrics_command(commands.metrics_options);
  if (*commands.top) return top_command(commands.top_options);
  const LinkableInstallation linkable = linkable_installation(find_installation(), control_folders().back());
  const Installation& installation = linkable.installation;
  if (!linkable.problem.empty() && (*commands.demo || *commands.run)) {
    fmt::print(stderr, "tessera: {}\n", linkable.problem);
    return 1;
  }
  if (*commands.demo) return demo_command(installation, commands.demo_options);
  if (*commands.doctor) return doctor_command(installation, commands.doctor_options);
  if (*commands.fuzz) return fuzz_command(commands.fuzz_options);
  if (*commands.bench) return policy_bench_command(commands.policy_bench_options);
  if (*commands.replay) return replay_command(commands.replay_options);
  return run_command(installation, commands.run_options, program);
}
