// `tessera sleep PID [TAG]` and `tessera wake PID [TAG]`: evict a running program's blocks from device memory, and
// fetch them back.
//
// Thread safety: none.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

struct MoveOptions {
  explicit MoveOptions(CLI::App& app);

  CLI::Option* tag_given = nullptr;
  int pid = 0;
  std::string tag;
  int timeout_seconds = 60;
  bool json = false;
};

// `verb` is "sleep" or "wake". Returns 0; on failure prints the reason and returns 1, or 2 for an invalid value.
int move_command(const std::string& verb, const MoveOptions& options);
