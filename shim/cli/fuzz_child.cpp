// One process per seed: a crash or a hang in it is an outcome like any other.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "fuzz_command.hpp"

namespace {

// Exits without running the parent's cleanup: buffered output shared by both is written by the parent.
[[noreturn]] void be_child(const std::function<std::string()>& body, int out, unsigned seconds) {
  alarm(seconds);
  const std::string text = body();
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = write(out, text.data() + done, text.size() - done);
    if (written < 0 && errno != EINTR) _exit(1);
    if (written > 0) done += static_cast<std::size_t>(written);
  }
  _exit(0);
}

std::string read_to_end(int in) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = read(in, buffer, sizeof(buffer));
    if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
    if (got == 0 || (got < 0 && errno != EINTR)) return text;
  }
}

std::string end_of(int status, unsigned seconds) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
    return fmt::format("timed out after {} s", seconds);
  }
  if (WIFSIGNALED(status)) return fmt::format("it crashed: {}", strsignal(WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0) return fmt::format("it exited with code {}", WEXITSTATUS(status));
  return "";
}

}  // namespace

FuzzOutcome in_child(const std::function<std::string()>& body, unsigned seconds) {
  int ends[2];
  if (pipe(ends) != 0) return {false, fmt::format("no pipe: {}", std::strerror(errno)), ""};
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    be_child(body, ends[1], seconds);
  }
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return {false, fmt::format("no process: {}", std::strerror(errno)), ""};
  }
  FuzzOutcome outcome;
  outcome.json = read_to_end(ends[0]);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  outcome.failure = end_of(status, seconds);
  if (!outcome.failure.empty()) {
    outcome.json.clear();
    return outcome;
  }
  const auto told = nlohmann::json::parse(outcome.json, nullptr, false);
  outcome.passed = told.is_object() && told.value("passed", false);
  if (!outcome.passed) outcome.failure = told.is_object() ? told.value("failure", "") : "no answer";
  return outcome;
}
