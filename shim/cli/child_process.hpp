// Runs a program to its end and keeps what it said.
//
// Thread safety: none.
#pragma once

#include <string>
#include <vector>

#include "child_environment.hpp"

struct Finished {
  int exit_code = 0;    // of the program, or 128 + signal as a shell has it
  std::string output;   // standard output and error together, the last 256 KiB of it
  double seconds = 0;   // wall time
  std::string problem;  // why it could not be started or watched, or ""

  bool well() const { return problem.empty() && exit_code == 0; }
};

Finished run_to_end(const std::vector<std::string>& command, ChildEnvironment& environment);
