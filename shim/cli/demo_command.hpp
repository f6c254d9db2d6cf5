// `tessera demo`: an unmodified training program on a device a third of its size.
//
// Three runs: (a) with ample device memory; (b) without Tessera on a third of what (a) needed, which must run out of
// memory; (c) the same under `tessera run`, with too little host memory for the rest, so that the file tier is used
// too. The losses of (a) and (c) must be bitwise equal.
//
// Thread safety: none.
#pragma once

#include <string>

#include "installation.hpp"

struct DemoOptions {
  bool software = false;  // even if there is a GPU
  bool json = false;
  int steps = 0;         // 0: the program's default
  std::string file_dir;  // "": choose one
};

// 0 if everything came out as claimed, 1 if not, 2 if the demo could not run.
int demo_command(const Installation& installation, const DemoOptions& options);
