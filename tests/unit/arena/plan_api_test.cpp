#include "tessera/plan.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "tessera/tessera.h"

namespace {

const std::vector<tessera_plan_record> kRecords = {{16, 0, 1}, {8, 1, 2}, {64, 2, 3}, {32, 3, 4}};

TEST(PlanApi, FiguresAreFilled) {
  tessera_arena_figures figures{};
  figures.size = sizeof(figures);
  ASSERT_EQ(tessera_plan_arena(kRecords.data(), kRecords.size(), &figures), TESSERA_OK);
  EXPECT_EQ(figures.size, sizeof(figures));
  EXPECT_EQ(figures.naive_bytes, 120U);
  EXPECT_EQ(figures.offset_lower_bound, 96U);
  EXPECT_EQ(figures.offset_greedy_by_size, 96U);
  EXPECT_EQ(figures.shared_by_breadth, 96U);
}

TEST(PlanApi, AnOlderStructIsFilledAsFarAsItGoes) {
  tessera_arena_figures figures{};
  figures.size = offsetof(tessera_arena_figures, offset_lower_bound);
  ASSERT_EQ(tessera_plan_arena(kRecords.data(), kRecords.size(), &figures), TESSERA_OK);
  EXPECT_EQ(figures.naive_bytes, 120U);
  EXPECT_EQ(figures.offset_lower_bound, 0U);
}

TEST(PlanApi, OffsetsAreThoseOfTheBestPlan) {
  std::vector<std::uint64_t> offsets(kRecords.size());
  std::uint64_t total = 0;
  ASSERT_EQ(tessera_plan_offsets(kRecords.data(), kRecords.size(), offsets.data(), &total), TESSERA_OK);
  EXPECT_EQ(total, 96U);
  EXPECT_EQ(offsets[2] + 64, offsets[3]);
}

TEST(PlanApi, InvalidArgumentsAreNamedAndWriteNothing) {
  tessera_arena_figures figures{};
  EXPECT_EQ(tessera_plan_arena(kRecords.data(), kRecords.size(), &figures), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_last_error(), std::string("figures->size is not set"));
  EXPECT_EQ(tessera_plan_arena(nullptr, 1, &figures), TESSERA_INVALID_ARGUMENT);
  const tessera_plan_record backwards = {1, 2, 1};
  std::uint64_t offset = 77, total = 77;
  EXPECT_EQ(tessera_plan_offsets(&backwards, 1, &offset, &total), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(total, 77U);
  EXPECT_EQ(tessera_plan_offsets(&backwards, 1, nullptr, &total), TESSERA_INVALID_ARGUMENT);
}

}  // namespace

namespace {

tessera_split_node split_node(double time, std::uint64_t group) { return {time, 10 * time, 1, 100, group, 0, 0}; }

TEST(PlanApi, ASplitReportsEveryNodesDeviceAndEveryDevicesLoad) {
  const std::vector<tessera_split_node> nodes = {split_node(3, 0), split_node(3, 1), split_node(5, 2)};
  const std::vector<tessera_split_edge> edges = {{0, 1}, {1, 2}};
  tessera_split_problem problem{};
  problem.nodes = nodes.data();
  problem.node_count = nodes.size();
  problem.edges = edges.data();
  problem.edge_count = edges.size();
  problem.accelerator_bytes = 1000;
  problem.accelerators = 3;
  std::vector<std::uint32_t> part_of(3);
  std::vector<tessera_split_part> parts(3);
  double load = 0;
  ASSERT_EQ(tessera_plan_split(&problem, part_of.data(), parts.data(), &load), TESSERA_OK);
  EXPECT_EQ(load, 6.0);
  EXPECT_EQ(parts[part_of[2]].load, 6.0);
  std::uint64_t held = 0;
  for (const tessera_split_part& part : parts) held += part.nodes;
  EXPECT_EQ(held, 3U);
  problem.accelerator_bytes = 99;
  EXPECT_EQ(tessera_plan_split(&problem, part_of.data(), parts.data(), &load), TESSERA_OUT_OF_MEMORY);
  EXPECT_EQ(tessera_plan_split(nullptr, part_of.data(), parts.data(), &load), TESSERA_INVALID_ARGUMENT);
}

}  // namespace
