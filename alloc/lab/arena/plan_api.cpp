// plan.h: validate, forward, translate the error.
#include "tessera/plan.h"

#include <algorithm>
#include <vector>

#include "api/call.hpp"
#include "api/copy_out.hpp"
#include "lab/arena/planner.hpp"
#include "lab/arena/split.hpp"

namespace tessera {
namespace {

Result<std::vector<UsageRecord>> records_of(const tessera_plan_record* records, std::size_t count) {
  if (records == nullptr && count != 0) return null_argument("records");
  std::vector<UsageRecord> copies;
  copies.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    copies.push_back({Bytes(records[i].bytes), records[i].first, records[i].last});
  }
  return copies;
}

tessera_arena_figures describe(const ArenaFigures& from) {
  tessera_arena_figures figures{};
  figures.naive_bytes = from.naive.value();
  figures.offset_lower_bound = from.offset_lower_bound.value();
  figures.offset_greedy_by_size = from.offset_greedy_by_size.value();
  figures.offset_greedy_by_breadth = from.offset_greedy_by_breadth.value();
  figures.offset_best_fit = from.offset_best_fit.value();
  figures.shared_lower_bound = from.shared_lower_bound.value();
  figures.shared_greedy_by_size = from.shared_greedy_by_size.value();
  figures.shared_improved = from.shared_improved.value();
  figures.shared_by_breadth = from.shared_by_breadth.value();
  return figures;
}

Status place(const tessera_plan_record* records, std::size_t count, std::uint64_t* offsets, std::uint64_t* total) {
  if (offsets == nullptr && count != 0) return null_argument("offsets");
  if (total == nullptr) return null_argument("total");
  TESSERA_TRY_ASSIGN(const std::vector<UsageRecord> copies, records_of(records, count));
  TESSERA_TRY_ASSIGN(const OffsetPlan plan, plan_offsets(copies));
  for (std::size_t i = 0; i < count; ++i) offsets[i] = plan.offsets[i].value();
  *total = plan.total.value();
  return {};
}

Status survey(const tessera_plan_record* records, std::size_t count, tessera_arena_figures* figures) {
  TESSERA_TRY_ASSIGN(const std::vector<UsageRecord> copies, records_of(records, count));
  TESSERA_TRY_ASSIGN(const ArenaFigures found, survey_arena(copies));
  return copy_out_struct(describe(found), figures, "figures");
}

Result<PlacementGraph> graph_of(const tessera_split_problem& problem) {
  if (problem.nodes == nullptr && problem.node_count != 0) return null_argument("problem->nodes");
  if (problem.edges == nullptr && problem.edge_count != 0) return null_argument("problem->edges");
  PlacementGraph graph;
  graph.nodes.reserve(problem.node_count);
  for (std::size_t i = 0; i < problem.node_count; ++i) {
    const tessera_split_node& node = problem.nodes[i];
    graph.nodes.push_back({node.accelerator_time, node.cpu_time, node.output_time, Bytes(node.bytes), node.group,
                           node.backward != 0, node.cpu_only != 0});
  }
  graph.edges.reserve(problem.edge_count);
  for (std::size_t i = 0; i < problem.edge_count; ++i) {
    graph.edges.push_back({problem.edges[i].from, problem.edges[i].to});
  }
  return graph;
}

// Accelerators first, then CPUs; devices without work stay zero.
void tell(const Split& split, const SplitLimits& limits, std::uint32_t* part_of, tessera_split_part* parts) {
  std::fill_n(parts, limits.accelerators + limits.cpus, tessera_split_part{});
  std::size_t accelerator = 0, cpu = limits.accelerators;
  for (const SplitPart& part : split.parts) {
    const std::size_t device = part.cpu ? cpu++ : accelerator++;
    parts[device] = {part.load, part.bytes.value(), part.nodes.size()};
    for (const std::size_t node : part.nodes) part_of[node] = static_cast<std::uint32_t>(device);
  }
}

Status split(const tessera_split_problem* problem, std::uint32_t* part_of, tessera_split_part* parts, double* load) {
  if (problem == nullptr) return null_argument("problem");
  if (part_of == nullptr && problem->node_count != 0) return null_argument("part_of");
  if (parts == nullptr) return null_argument("parts");
  if (load == nullptr) return null_argument("load");
  TESSERA_TRY_ASSIGN(const PlacementGraph graph, graph_of(*problem));
  const SplitLimits limits{problem->accelerators, problem->cpus, Bytes(problem->accelerator_bytes),
                           problem->linear != 0};
  TESSERA_TRY_ASSIGN(const Split found, split_graph(graph, limits));
  tell(found, limits, part_of, parts);
  *load = found.load;
  return {};
}

}  // namespace
}  // namespace tessera

extern "C" {

tessera_result tessera_plan_arena(const tessera_plan_record* records, size_t count, tessera_arena_figures* figures) {
  return tessera::api_call([&] { return tessera::survey(records, count, figures); });
}

tessera_result tessera_plan_offsets(const tessera_plan_record* records, size_t count, uint64_t* offsets,
                                    uint64_t* total) {
  return tessera::api_call([&] { return tessera::place(records, count, offsets, total); });
}

const char* tessera_plan_last_error(void) { return tessera::last_error_text(); }

tessera_result tessera_plan_split(const tessera_split_problem* problem, uint32_t* part_of, tessera_split_part* parts,
                                  double* load) {
  return tessera::api_call([&] { return tessera::split(problem, part_of, parts, load); });
}

}  // extern "C"
