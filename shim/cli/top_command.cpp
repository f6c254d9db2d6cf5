#include "top_command.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include <fmt/core.h>

#include "live_sampler.hpp"
#include "node_programs.hpp"
#include "top_web.hpp"

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

std::vector<TopRow> with_shares(std::vector<TopRow> rows) {
  ShareView view = share_view_of_environment();
  match(view, rows);
  return rows;
}

}  // namespace

TopOptions::TopOptions(CLI::App& app) {
  CLI::Option* const one = app.add_flag("--once", once, "print one update (takes about two seconds) and exit");
  CLI::Option* const lines = app.add_flag("--json", json, "print each update as one JSON object per line");
  app.add_option("--interval", web.interval, "seconds between updates (1)")->check(CLI::Range(0.5, 3600.0));
  CLI::Option* const page =
      app.add_option("--web", web.place, "show them as a web page, at this address (a free port of 127.0.0.1)")
          ->type_name("ADDRESS:PORT")
          ->expected(0, 1)
          ->excludes(one)
          ->excludes(lines);
  app.add_flag("--allow-remote", web.allow_remote, "let other machines reach the page, if its address does")
      ->needs(page);
  app.parse_complete_callback([this, page] { is_web = page->count() > 0; });
}

int top_command(const TopOptions& options) {
  if (options.is_web) return top_web(options.web);
  const duration<double> interval(options.web.interval);
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
