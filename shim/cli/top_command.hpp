// `tessera top`: this user's programs under Tessera, live.
//
// Programs write their figures to a page of shared memory while a reader asks for them (tessera/live.h), so a program
// that hangs or is stopped is still shown, with its last figures.
//
// Thread safety: none.
#pragma once

struct TopOptions {
  bool once = false;
  bool json = false;
  double interval = 1;  // between samples
};

// Runs until it is ended, or once. Returns 0.
int top_command(const TopOptions& options);
