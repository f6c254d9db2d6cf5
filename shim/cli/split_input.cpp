#include "split_input.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <unordered_map>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace {

using nlohmann::json;
constexpr std::uint64_t kMostPieces = 2000;

// Published files use both true and 1.
bool flag(const json& node, const char* key) {
  const json& value = node.at(key);
  return value.is_boolean() ? value.get<bool>() : value.get<double>() != 0;
}

std::uint64_t whole_bytes(double bytes) {
  if (!(bytes >= 0)) throw std::invalid_argument("a size is negative");
  constexpr double kMost = 9e18;
  return static_cast<std::uint64_t>(std::min(bytes, kMost));
}

std::string read_graph(const json& graph, SplitInput& input) {
  input.accelerators = graph.at("maxFPGAs").get<std::uint32_t>();
  input.cpus = graph.at("maxCPUs").get<std::uint32_t>();
  input.accelerator_bytes = whole_bytes(graph.at("maxSizePerFPGA").get<double>());
  std::unordered_map<std::uint64_t, std::size_t> place;
  std::uint64_t alone = std::uint64_t{1} << 63;
  for (const json& node : graph.at("nodes")) {
    const std::uint64_t id = node.at("id").get<std::uint64_t>();
    if (!place.emplace(id, input.nodes.size()).second) return fmt::format("two nodes {}", id);
    input.names.push_back(id);
    input.nodes.push_back({node.at("fpgaLatency").get<double>(), node.at("cpuLatency").get<double>(), 0,
                           whole_bytes(node.value("size", 0.0)),
                           node.contains("colorClass") ? node.at("colorClass").get<std::uint64_t>() : alone++,
                           flag(node, "isBackwardNode"), !flag(node, "supportedOnFpga")});
  }
  for (const json& edge : graph.at("edges")) {
    const auto from = place.find(edge.at("sourceId").get<std::uint64_t>());
    const auto to = place.find(edge.at("destId").get<std::uint64_t>());
    if (from == place.end() || to == place.end()) return "an edge has an endpoint that is not a node";
    input.edges.push_back({from->second, to->second});
    input.nodes[from->second].output_time = edge.at("cost").get<double>();
  }
  return "";
}

class TraceInput {
 public:
  TraceInput(double bandwidth, SplitInput& input) : bandwidth_(bandwidth), input_(input) {}

  // False at the end of the iteration.
  bool add(const json& line);
  // Merges operations into pieces of similar time. Returns "" or the reason why there is nothing to merge.
  std::string finish();

 private:
  struct Block {
    std::uint64_t bytes = 0;
    bool touched = false;
    bool handed_on = false;
    std::size_t writer = kNobody;
  };
  static constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

  void add_op(const json& line);
  void begin_iteration();
  Block& block_of(const json& id);
  void hold(Block& block, tessera_split_node& node);

  const double bandwidth_;
  SplitInput& input_;
  std::unordered_map<std::uint64_t, Block> blocks_;
  bool inside_ = false;
};

void TraceInput::begin_iteration() {
  inside_ = true;
  input_.nodes.clear();
  input_.edges.clear();
  // What was written earlier is available to every part.
  for (auto& [id, block] : blocks_) block = {block.bytes, false, false, kNobody};
}

bool TraceInput::add(const json& line) {
  const std::string kind = line.at("t").get<std::string>();
  if (kind == "alloc") {
    blocks_[line.at("id").get<std::uint64_t>()] = {line.at("bytes").get<std::uint64_t>()};
  } else if (kind == "free") {
    blocks_.erase(line.at("id").get<std::uint64_t>());
  } else if (kind == "op") {
    add_op(line);
  } else if (kind == "mark" && line.at("kind") == "iteration") {
    if (inside_) return false;
    begin_iteration();
  }
  return true;
}

TraceInput::Block& TraceInput::block_of(const json& id) {
  const auto found = blocks_.find(id.get<std::uint64_t>());
  if (found == blocks_.end()) throw std::invalid_argument(fmt::format("no such block: {}", id.dump()));
  return found->second;
}

void TraceInput::hold(Block& block, tessera_split_node& node) {
  if (!block.touched) node.bytes += block.bytes;
  block.touched = true;
}

void TraceInput::add_op(const json& line) {
  const std::size_t number = input_.nodes.size();
  tessera_split_node node{};
  node.accelerator_time = line.value("ns", 0.0);
  for (const json& id : line.value("r", json::array())) {
    Block& block = block_of(id);
    hold(block, node);
    if (block.writer == kNobody) continue;
    input_.edges.push_back({block.writer, number});
    if (!block.handed_on) {
      input_.nodes[block.writer].output_time += static_cast<double>(block.bytes) / bandwidth_ * 1e9;
    }
    block.handed_on = true;
  }
  for (const json& id : line.value("w", json::array())) {
    Block& block = block_of(id);
    hold(block, node);
    block.writer = number;
    block.handed_on = false;
  }
  input_.nodes.push_back(node);
}

std::string TraceInput::finish() {
  if (input_.nodes.empty()) return "it has no operations";
  double total = 0, before = 0;
  for (const tessera_split_node& node : input_.nodes) total += node.accelerator_time;
  if (!(total > 0)) return "none of its operations has a duration (ns)";
  const bool few = input_.nodes.size() <= kMostPieces;
  for (std::size_t i = 0; i < input_.nodes.size(); ++i) {
    input_.names.push_back(i);
    const double part = before / total;
    input_.nodes[i].group = few ? i : static_cast<std::uint64_t>(part * static_cast<double>(kMostPieces));
    before += input_.nodes[i].accelerator_time;
  }
  return "";
}

std::string read_trace(std::istream& text, double bandwidth, SplitInput& input) {
  input.trace = true;
  TraceInput trace(bandwidth, input);
  std::size_t number = 0;
  try {
    for (std::string line; std::getline(text, line);) {
      ++number;
      if (line.find_first_not_of(" \t\r") != std::string::npos && !trace.add(json::parse(line))) break;
    }
  } catch (const std::exception& e) {
    return fmt::format("line {}: {}", number, e.what());
  }
  return trace.finish();
}

}  // namespace

std::string read_split_input(std::istream& text, double bandwidth, SplitInput& input) {
  std::string first;
  std::getline(text, first);
  // A trace begins with a line that is a complete object with its type.
  const json header = json::parse(first, nullptr, false);
  if (header.is_object() && header.contains("t")) {
    text.seekg(0);
    return read_trace(text, bandwidth, input);
  }
  std::ostringstream rest;
  rest << first << '\n' << text.rdbuf();
  try {
    return read_graph(json::parse(rest.str()), input);
  } catch (const std::exception& e) {
    return fmt::format("neither a trace nor a graph: {}", e.what());
  }
}
