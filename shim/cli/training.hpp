// The demo's training program (tests/programs/train.c): how to start it, and its results.
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
  std::string kernels;  // the argument of cuModuleLoadData: a fat binary, or host code
  int steps = 0;        // 0: the program's own default

  std::vector<std::string> command(const std::string& losses, std::uint64_t occupy = 0) const;
};

struct TrainingResult {
  Finished process;
  std::string error;            // the CUDA error that ended it, or ""
  std::uint64_t live_peak = 0;  // bytes, as counted by the program
  double step_seconds = 0;      // average, as measured by the program
  std::vector<std::string> losses;

  bool well() const { return process.well() && !losses.empty(); }
};

// Runs the command; reads the losses back from `losses`, one hexadecimal float per line.
TrainingResult train(const std::vector<std::string>& command, ChildEnvironment& environment, const std::string& losses);
// Parses the program's output; separate from train() for testing.
std::uint64_t live_peak_in(const std::string& output);
double step_seconds_in(const std::string& output);
std::string cuda_error_in(const std::string& output);
