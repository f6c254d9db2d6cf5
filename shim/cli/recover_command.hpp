// `tessera recover FILE...`: turns what a killed program left in the files of --stats, --history and --timeline into
// the reports themselves.
//
// Thread safety: none; for the main thread.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

struct RecoverOptions {
  std::vector<std::string> files;
  std::string out;  // "": each file is replaced

  void add_to(CLI::App& app);
};

// Writes the report to `out`, or replaces the file. Returns "" or the error; `line` is what was done.
std::string recover(const std::string& file, const std::string& out, std::string& line);
// The exit code: 2 if any of the files has nothing to recover.
int recover_command(const RecoverOptions& options);
