#include "command_line.hpp"

#include "tessera/tessera.h"

CommandLine::CommandLine(CLI::App& app)
    : run(app.add_subcommand("run", "run a program with a heap larger than the GPU")),
      demo(app.add_subcommand("demo", "train a network on a device a third of its size")),
      doctor(app.add_subcommand("doctor", "report what this machine supports, and what to fix")),
      replay(app.add_subcommand("replay", "replay a trace on a simulated machine, in virtual time")),
      bench(app.add_subcommand("policy-bench", "compare all policies on traces, under several budgets")),
      sleep(app.add_subcommand("sleep", "evict a running program's blocks from device memory")),
      wake(app.add_subcommand("wake", "fetch them back")),
      control(app.add_subcommand("control", "let a controller do both by HTTP")),
      share(app.add_subcommand("share", "show what programs hold of the machine; change their weights")),
      top(app.add_subcommand("top", "show this user's programs under Tessera, live")),
      metrics(app.add_subcommand("metrics", "print the figures of this user's programs for Prometheus")),
      stats(app.add_subcommand("stats", "show the statistics of a run, even if it was killed")),
      report(app.add_subcommand("report", "write an HTML report of a run, or compare two")),
      recover(app.add_subcommand("recover", "restore the reports of a program that was killed")),
      fuzz(app.add_subcommand("fuzz", "fault-injection fuzzing by seed, in virtual time")),
      completion(app.add_subcommand("completion", "print the completion of this command for a shell")),
      plan(app),
      sleep_options(*sleep),
      wake_options(*wake),
      control_options(*control),
      share_options(*share),
      top_options(*top) {
  app.set_version_flag("--version", std::string("tessera ") + tessera_version());
  app.require_subcommand(1);
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
  completion->add_option("shell", shell, "the shell")
      ->required()
      ->type_name("bash|zsh|fish")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""));
}
