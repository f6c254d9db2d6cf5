#include "top_command.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include <fmt/format.h>

#include "live_sampler.hpp"

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

}  // namespace

int top_command(const TopOptions& options) {
  const duration<double> interval(options.interval);
  const auto wanted = interval + 2 * kLongestAnswer;
  LiveSampler sampler;
  await_answers(wanted);
  sampler.look(wanted);
  do {
    std::this_thread::sleep_for(interval);
    // A single sample waits for figures that cover the whole interval. A continuous display shows a stopped program as
    // it last was.
    if (options.once) await_answers(wanted);
    print(sampler.look(wanted), options.json);
  } while (!options.once && std::ferror(stdout) == 0);
  return 0;
}
