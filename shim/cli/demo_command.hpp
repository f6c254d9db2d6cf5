// `tessera demo`: an unmodified training program on a device a third of its size.
//
// Three runs: (a) with ample device memory; (b) with a third of what (a) needed, alone: it must run
// out of memory; (c) the same under `tessera run`, with too little host memory for the rest, so that
// the file tier works too. The losses of (a) and (c) must be equal bit by bit.
//
// Thread safety: none.
#pragma once

#include <string>

#include "installation.hpp"

struct DemoOptions {
  bool software = false;  // also where there is a GPU
  bool json = false;
  int steps = 0;          // 0: the program's default
  std::string file_dir;   // "" chooses
};

// 0 when everything came out as claimed, 1 when not, 2 when it could not be tried.
int demo_command(const Installation& installation, const DemoOptions& options);
