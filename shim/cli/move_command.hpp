// `tessera sleep PID [TAG]` and `tessera wake PID [TAG]`: moves a running program's blocks out of device
// memory, and back.
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

// `verb` is "sleep" or "wake". 0, or with a line that says why not 1, or 2 for what cannot be meant.
int move_command(const std::string& verb, const MoveOptions& options);
