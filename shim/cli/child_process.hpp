// Runs a program to completion and captures its output.
//
// Thread safety: none.
#pragma once

#include <string>
#include <vector>

#include "child_environment.hpp"

struct Finished {
  int exit_code = 0;    // the program's, or 128 + signal as in a shell
  std::string output;   // standard output and error together, the last 256 KiB of it
  double seconds = 0;   // wall time
  std::string problem;  // why it could not be started or watched, or ""

  bool well() const { return problem.empty() && exit_code == 0; }
};

Finished run_to_end(const std::vector<std::string>& command, ChildEnvironment& environment);
