// The demo's training program (tests/programs/train.c) from outside: how to start it, and what it
// said.
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "child_process.hpp"
#include "installation.hpp"

struct Training {
  std::string program;
  std::string kernels;  // what cuModuleLoadData gets: a fat binary, or host code
  int steps = 0;        // 0: the program's own default

  std::vector<std::string> command(const std::string& losses, std::uint64_t occupy = 0) const;
};

struct TrainingResult {
  Finished process;
  std::string error;            // the CUDA error that ended it, "" if none
  std::uint64_t live_peak = 0;  // as the program counted it, bytes
  double step_seconds = 0;      // likewise, on average
  std::vector<std::string> losses;

  bool well() const { return process.well() && !losses.empty(); }
};

// Runs it; the losses are read back from `losses`, one hexadecimal float per line.
TrainingResult train(const std::vector<std::string>& command, ChildEnvironment& environment,
                     const std::string& losses);
// What its output says; apart from train() so that it can be checked by itself.
std::uint64_t live_peak_in(const std::string& output);
double step_seconds_in(const std::string& output);
std::string cuda_error_in(const std::string& output);
