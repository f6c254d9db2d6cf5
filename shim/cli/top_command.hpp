// `tessera top`: this user's programs under Tessera, live.
//
// Programs write their figures to a page of shared memory while a reader asks for them (tessera/live.h), so a program
// that hangs or is stopped is still shown, with its last figures.
//
// Thread safety: none.
#pragma once

#include <CLI/CLI.hpp>

#include "top_web.hpp"

struct TopOptions {
  explicit TopOptions(CLI::App& app);

  bool once = false;
  bool json = false;
  bool is_web = false;
  TopWebOptions web;  // and the interval of the others
};

// Runs until it is ended, or once. Returns 0.
int top_command(const TopOptions& options);
