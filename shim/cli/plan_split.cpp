#include "plan_split.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "rounded.hpp"
#include "tessera/tessera.h"

namespace {

// The names of the nodes in a part; for a trace, its first and last operation.
std::vector<std::uint64_t> names_in(const SplitInput& input, const FoundSplit& split, std::size_t part) {
  std::vector<std::uint64_t> names;
  for (std::size_t node = 0; node < input.nodes.size(); ++node) {
    if (split.part_of[node] == part) names.push_back(input.names[node]);
  }
  if (input.trace && names.size() > 1) names = {names.front(), names.back()};
  return names;
}

const char* device(const SplitInput& input, std::size_t part) {
  return part < input.accelerators ? "accelerator" : "cpu";
}

// Applies the limits given as options. Returns "" or the error.
std::string apply(const PlanSplitOptions& options, SplitInput& input) {
  if (options.parts != 0) input.accelerators = options.parts;
  if (!options.part_memory.empty() &&
      tessera_parse_size(options.part_memory.c_str(), &input.accelerator_bytes) != TESSERA_OK) {
    return fmt::format("--part-memory: {}", tessera_last_error());
  }
  if (input.accelerators == 0) return "--parts is required";
  return "";
}

tessera_result find_split(const PlanSplitOptions& options, const SplitInput& input, FoundSplit& found) {
  tessera_split_problem problem{};
  problem.nodes = input.nodes.data();
  problem.node_count = input.nodes.size();
  problem.edges = input.edges.data();
  problem.edge_count = input.edges.size();
  problem.accelerator_bytes = input.accelerator_bytes;
  problem.accelerators = input.accelerators;
  problem.cpus = input.cpus;
  problem.linear = options.linear || input.trace;
  found.part_of.resize(input.nodes.size());
  found.parts.resize(std::size_t{input.accelerators} + input.cpus);
  return tessera_plan_split(&problem, found.part_of.data(), found.parts.data(), &found.load);
}

}  // namespace

std::string split_table(const SplitInput& input, const FoundSplit& split) {
  std::string table;
  for (std::size_t part = 0; part < split.parts.size(); ++part) {
    if (split.parts[part].nodes == 0) continue;
    const std::vector<std::uint64_t> names = names_in(input, split, part);
    table += fmt::format("{:<12}{:>14.3f}{:>12}  {}\n", device(input, part), split.parts[part].load,
                         rounded_bytes(split.parts[part].bytes),
                         input.trace ? fmt::format("operations {} to {}", names.front(), names.back())
                                     : fmt::format("{} nodes", names.size()));
  }
  return table + fmt::format("{:<12}{:>14.3f}{}\n", "largest", split.load, input.trace ? " ns" : "");
}

std::string split_json(const SplitInput& input, const FoundSplit& split) {
  auto parts = nlohmann::ordered_json::array();
  for (std::size_t part = 0; part < split.parts.size(); ++part) {
    if (split.parts[part].nodes == 0) continue;
    parts.push_back({{"device", device(input, part)},
                     {"load", split.parts[part].load},
                     {"bytes", split.parts[part].bytes},
                     {input.trace ? "operations" : "nodes", names_in(input, split, part)}});
  }
  const nlohmann::ordered_json json = {{"max_load", split.load}, {"parts", parts}};
  return json.dump() + "\n";
}

int plan_split_command(const PlanSplitOptions& options) {
  const auto refuse = [&](const std::string& problem, int code) {
    fmt::print(stderr, "tessera: {}: {}\n", options.input, problem);
    return code;
  };
  std::ifstream text(options.input);
  if (!text) return refuse(std::strerror(errno), 1);
  SplitInput input;
  const std::string problem = read_split_input(text, options.bandwidth, input);
  if (!problem.empty()) return refuse(problem, 1);
  const std::string complaint = apply(options, input);
  if (!complaint.empty()) return refuse(complaint, 2);
  FoundSplit found;
  if (find_split(options, input, found) != TESSERA_OK) return refuse(tessera_plan_last_error(), 1);
  fmt::print("{}", options.json ? split_json(input, found) : split_table(input, found));
  return 0;
}
