// The command line: parses the arguments, calls one command, returns its exit code.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include "command_line.hpp"
#include "command_tree.hpp"
#include "completion_command.hpp"
#include "control_client.hpp"
#include "control_command.hpp"
#include "demo_command.hpp"
#include "doctor_command.hpp"
#include "fuzz_command.hpp"
#include "installation.hpp"
#include "linkable_installation.hpp"
#include "metrics_command.hpp"
#include "misspelt_words.hpp"
#include "move_command.hpp"
#include "policy_bench_command.hpp"
#include "recover_command.hpp"
#include "replay_command.hpp"
#include "report_command.hpp"
#include "run_command.hpp"
#include "share_command.hpp"
#include "stats_command.hpp"
#include "tessera/tessera.h"
#include "top_command.hpp"
#include "wrong_use.hpp"

namespace {

// Help and version are not errors; everything else is one line and exit code 2.
int finish_parsing(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
  const auto is = [&](CLI::ExitCodes code) { return error.get_exit_code() == static_cast<int>(code); };
  // A value that is refused is refused with what would be taken.
  const std::string complaint = is(CLI::ExitCodes::ExtrasError)       ? wrong_words(app)
                                : is(CLI::ExitCodes::ValidationError) ? error.what()
                                                                      : with_help_of(app, error.what());
  fmt::print(stderr, "tessera: {}\n", complaint);
  return kWrongUse;
}

struct Renamed {
  std::string_view old_name, name;
};
constexpr Renamed kRenamed[] = {{"torture", "fuzz"}, {"league", "policy-bench"}};

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
  CommandLine commands(app);
  if (words.empty()) {
    fmt::print("{}", app.help());
    return kWrongUse;
  }
  if (const std::string wrong = wrong_command(app, words); !wrong.empty()) {
    fmt::print(stderr, "tessera: {}\n", wrong);
    return kWrongUse;
  }
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    return finish_parsing(app, error);
  }
  if (*commands.completion) return completion_command(commands.shell, command_tree(app));
  if (commands.plan.was_called()) return commands.plan.run();
  if (*commands.sleep) return move_command("sleep", commands.sleep_options);
  if (*commands.wake) return move_command("wake", commands.wake_options);
  if (*commands.share) return share_command(commands.share_options);
  if (*commands.control) return control_command(commands.control_options);
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
