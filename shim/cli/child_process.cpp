#include "child_process.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

namespace {

constexpr std::size_t kKept = 256 << 10;

[[noreturn]] void become(char* const* arguments, char* const* environment, int output) {
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::execvpe(arguments[0], arguments, environment);
  const char* const reason = std::strerror(errno);
  [[maybe_unused]] const auto said = ::write(STDERR_FILENO, reason, std::strlen(reason));
  ::_exit(127);
}

std::string read_all(int input) {
  std::string text;
  char piece[4096];
  for (;;) {
    const ssize_t got = ::read(input, piece, sizeof(piece));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(piece, static_cast<std::size_t>(got));
    if (text.size() > 2 * kKept) text.erase(0, text.size() - kKept);
  }
}

}  // namespace

Finished run_to_end(const std::vector<std::string>& command, ChildEnvironment& environment) {
  std::vector<std::string> words = command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::vector<char*> variables = environment.for_exec();

  Finished finished;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    finished.problem = std::strerror(errno);
    return finished;
  }
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  if (child == 0) become(arguments.data(), variables.data(), ends[1]);
  ::close(ends[1]);
  if (child < 0) finished.problem = std::strerror(errno);
  if (child > 0) {
    finished.output = read_all(ends[0]);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    finished.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  ::close(ends[0]);
  finished.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return finished;
}
