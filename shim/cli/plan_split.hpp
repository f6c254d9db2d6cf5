// `tessera plan split TRACE|GRAPH`: splits work over several devices so that the load of the most loaded one is
// minimal.
//
// Thread safety: none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "split_input.hpp"

struct PlanSplitOptions {
  std::string input;
  std::uint32_t parts = 0;  // 0: as in the graph
  std::string part_memory;  // a size; "": as in the graph
  double bandwidth = 25e9;
  bool linear = false;
  bool json = false;
};

// 0; 1 if the input cannot be split, with one line on standard error; 2 for wrong options.
int plan_split_command(const PlanSplitOptions& options);

struct FoundSplit {
  double load = 0;
  std::vector<std::uint32_t> part_of;  // by node
  std::vector<tessera_split_part> parts;
};

std::string split_table(const SplitInput& input, const FoundSplit& split);
std::string split_json(const SplitInput& input, const FoundSplit& split);
