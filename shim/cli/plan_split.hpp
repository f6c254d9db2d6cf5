// `tessera plan split TRACE|GRAPH`: parts for several devices, the most loaded of which has the
// least to do.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "split_input.hpp"

struct PlanSplitOptions {
  std::string input;
  std::uint32_t parts = 0;        // 0: what the graph says
  std::string part_memory;        // a size; "": what the graph says
  double bandwidth = 25e9;
  bool linear = false;
  bool json = false;
};

// 0; 1 for an input that cannot be split, with one line on standard error; 2 for wrong options.
int plan_split_command(const PlanSplitOptions& options);

struct FoundSplit {
  double load = 0;
  std::vector<std::uint32_t> part_of;  // by node
  std::vector<tessera_split_part> parts;
};

std::string split_table(const SplitInput& input, const FoundSplit& split);
std::string split_json(const SplitInput& input, const FoundSplit& split);
