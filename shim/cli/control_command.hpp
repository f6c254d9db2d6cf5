// `tessera control PID --serve PLACE`: sleep and wake of a running program by HTTP, for controllers that speak the
// protocol of inference servers (control_http.hpp). It runs beside the program, so that nothing parses HTTP inside it.
//
// Thread safety: none.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

struct ControlOptions {
  explicit ControlOptions(CLI::App& app);

  int pid = 0;
  std::string serve;       // ADDRESS:PORT, or the path of a socket
  std::string token_file;  // for a port
  int timeout_seconds = 600;
};

// Serves until the program ends: returns 0. On failure prints the reason and returns 1, or 2 for an invalid value.
int control_command(const ControlOptions& options);
