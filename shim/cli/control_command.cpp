#include "control_command.hpp"

#include <chrono>
#include <cstdio>

#include <fmt/core.h>

#include "control_http.hpp"
#include "control_token.hpp"
#include "process_id.hpp"
#include "tessera/control.h"
#include "wrong_use.hpp"

namespace {

constexpr std::chrono::milliseconds kBetweenLooks{1000};

int wrong(const std::string& problem) {
  fmt::print(stderr, "tessera: control: {}\n", problem);
  return kWrongUse;
}

// The process, not another one with its number.
class Program {
 public:
  explicit Program(int pid) : pid_(pid) { runs_ = tessera_process_identity_of(pid, &known_) == TESSERA_OK; }
  bool runs() const {
    tessera_process_identity now{};
    return runs_ && tessera_process_identity_of(pid_, &now) == TESSERA_OK && now.start_ticks == known_.start_ticks;
  }

 private:
  const int pid_;
  tessera_process_identity known_{};
  bool runs_ = false;
};

}  // namespace

ControlOptions::ControlOptions(CLI::App& app) {
  app.add_option("PID", pid, "process id of a program started by `tessera run`")->required()->check(is_process_id());
  app.add_option("--serve", serve, "loopback address, or path of a socket, for POST /sleep, /wake_up, GET /is_sleeping")
      ->required()
      ->type_name("ADDRESS:PORT|PATH");
  app.add_option("--token-file", token_file,
                 "private file with the token that requests to a port must carry; it is made where there is none")
      ->type_name("FILE");
  app.add_option("--timeout", timeout_seconds, "seconds to wait for the program")->check(CLI::Range(1, 86400));
}

int control_command(const ControlOptions& options) {
  const Program program(options.pid);
  ControlDoor door{
      .move = [&](const std::string& line) { return ask_program(options.pid, line, options.timeout_seconds); },
      .state = [&] { return ask_state(options.pid, options.timeout_seconds); }};
  if (const ProgramState reached = door.state(); !reached.problem.empty()) {
    fmt::print(stderr, "tessera: control: {}\n", reached.problem);
    return 1;
  }
  HttpServer server;
  if (options.serve.find('/') != std::string::npos) {
    if (!options.token_file.empty()) return wrong("--token-file is for a port; a socket answers its own user only");
    if (const auto problem = server.listen_on_file(options.serve); !problem.empty()) return wrong(problem);
    fmt::print("{}\n", server.place());
  } else {
    if (options.token_file.empty()) return wrong("a port can be reached by every user: --token-file FILE is needed");
    ControlToken token = control_token(options.token_file);
    if (!token.problem.empty()) return wrong(token.problem);
    door.token = std::move(token.text);
    if (const auto problem = server.listen(options.serve); !problem.empty()) return wrong(problem);
    fmt::print("http://{}\n", server.place());
  }
  std::fflush(stdout);
  while (program.runs()) {
    server.serve_for(kBetweenLooks, [&](const HttpRequest& request) { return answer_control(request, door); });
  }
  return 0;
}
