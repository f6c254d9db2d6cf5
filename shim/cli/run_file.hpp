// A file that `tessera run` wrote about a run: its history, or its statistics alone.
//
// Thread safety: none.
#pragma once

#include <string>

#include "run_history.hpp"

struct RunFile {
  std::string name;  // as the user gave it
  RunHistory run;
  bool has_history = false;  // otherwise there are only statistics
};

// Reads the file. Of a program that was killed or still runs it has the last update, which a line on standard error
// says. Returns "" or the error.
std::string read_run_file(const std::string& name, RunFile& file);
