// The cost of allocations, compared with other allocators that are measured in turn with ours in the same run.
//
// Goals: a cached pair within 60 ns at each size on one thread; two threads at least 1.8 times the throughput of one; a
// pair among a million live blocks at most twice the cost of a pair among a thousand; bookkeeping at most a thousandth
// of the managed bytes; a touch of a resident block within 20 ns.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "alloc_workload.hpp"
#include "contender.hpp"
#include "lab/replay/trace_reader.hpp"
#include "metadata.hpp"
#include "must.hpp"
#include "program.hpp"

namespace tessera::bench {
namespace {

constexpr double kPairGoal = 60;         // nanoseconds
constexpr double kTouchGoal = 20;        // nanoseconds
constexpr double kThreadsGoal = 1.8;     // throughput of two threads over one
constexpr double kScalingGoal = 2.0;     // cost at 10^6 live blocks over the cost at 10^3
constexpr double kMetadataGoal = 0.001;  // fraction of the managed bytes

struct Row {
  std::string workload;
  Bytes bytes;  // block size; 0 where sizes are random
  unsigned threads = 1;
  std::size_t live = 0;    // live blocks; 0 where the count does not matter
  std::vector<double> ns;  // per operation, by contender
};

struct Goal {
  std::string what;
  double value = 0, goal = 0;
  bool at_most = true;
  bool reached() const { return at_most ? value <= goal : value >= goal; }
};

struct Report {
  std::vector<std::string> contenders;
  std::vector<Row> rows;
  std::vector<Metadata> metadata;
  std::vector<Goal> goals;
};

std::string text_of(Bytes bytes) {
  if (!bytes) return "drawn";
  if (bytes >= 1_GiB) return fmt::format("{} GiB", bytes / 1_GiB);
  if (bytes >= 1_MiB) return fmt::format("{} MiB", bytes / 1_MiB);
  if (bytes >= 1_KiB) return fmt::format("{} KiB", bytes / 1_KiB);
  return fmt::format("{} B", bytes.value());
}

// ---- measuring ----------------------------------------------------------------------------------

using Workloads = std::vector<std::unique_ptr<Workload>>;

Workloads for_each(std::span<const Entry> contenders, const WorkloadMaker& make) {
  Workloads workloads;
  for (const Entry& entry : contenders) workloads.push_back(make(*entry.contender));
  return workloads;
}

std::vector<double> column(std::span<const Cost> costs, double Cost::*cost) {
  std::vector<double> column;
  for (const Cost& one : costs) column.push_back(one.*cost);
  return column;
}

void measure_pairs(std::span<const Entry> contenders, bool smoke, Report& report) {
  for (const Bytes bytes : {16_B, 512_B, 4_KiB, 64_KiB, 512_KiB, 1_MiB, 64_MiB, 1_GiB}) {
    // Host allocators return large blocks to the system in every pair, so fewer pairs are enough.
    const int pairs = smoke ? 20 : bytes > 1_MiB ? 4000 : 20000;
    const auto costs = measure(for_each(contenders, cached_pair(bytes)), Turns::kBoth, smoke ? 1 : 41, pairs);
    report.rows.push_back({"cached pair", bytes, 1, 0, column(costs, &Cost::alone)});
    report.rows.push_back({"cached pair", bytes, 2, 0, column(costs, &Cost::together)});
    report.goals.push_back({fmt::format("cached pair of {}, ns", text_of(bytes)), costs[0].alone, kPairGoal, true});
    report.goals.push_back({fmt::format("two threads over one, {}", text_of(bytes)),
                            2 * costs[0].alone / costs[0].together, kThreadsGoal, false});
  }
}

void measure_touch(std::span<const Entry> contenders, bool smoke, Report& report) {
  for (const Bytes bytes : {4_KiB, 64_MiB}) {
    const auto costs =
        measure(for_each(contenders.first(1), touches(bytes)), Turns::kAlone, smoke ? 1 : 41, smoke ? 20 : 20000);
    report.rows.push_back({"touch of a resident block", bytes, 1, 0, column(costs, &Cost::alone)});
    report.goals.push_back(
        {fmt::format("touch of a block of {}, ns", text_of(bytes)), costs[0].alone, kTouchGoal, true});
  }
}

void measure_mixes(std::span<const Entry> contenders, bool smoke, Report& report) {
  const int rounds = smoke ? 1 : 21, operations = smoke ? 300 : 20000;
  const auto add = [&](const char* name, const WorkloadMaker& make) {
    const auto costs = measure(for_each(contenders, make), Turns::kAlone, rounds, operations);
    report.rows.push_back({name, Bytes(), 1, 0, column(costs, &Cost::alone)});
  };
  add("random_allocations", random_allocations());
  add("multi_stream_allocations", multi_stream_allocations());
  const Result<Trace> log = read_trace(TESSERA_RMM_LOG);
  if (log.status().code() == Code::kNotSupported) {
    fmt::print(stderr, "alloc_bench: this build cannot unpack {}: not replayed\n", TESSERA_RMM_LOG);
  } else {
    must(log.status());
    add("replay of an RMM log", replay_of(log.value()));
  }
  for (const Bytes bytes : {512_B, 2_MiB}) {
    const auto costs = measure(for_each(contenders, cross_thread_free(bytes)), Turns::kTogether, rounds, operations);
    report.rows.push_back({"cross-thread free, half a pair", bytes, 2, 0, column(costs, &Cost::together)});
  }
}

// All sets of live blocks in one call, so that they are measured in turn too.
void measure_scaling(std::span<const Entry> contenders, bool smoke, Report& report) {
  std::vector<std::size_t> sets = {1000, 10000, 100000, 1000000};
  if (smoke) sets = {100, 1000};
  Workloads workloads;
  for (const std::size_t live : sets) {
    for (auto& one : for_each(contenders, replace_among(live, 512_B))) workloads.push_back(std::move(one));
  }
  const auto costs = measure(workloads, Turns::kAlone, smoke ? 1 : 21, smoke ? 300 : 20000);
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const auto own = std::span(costs).subspan(i * contenders.size(), contenders.size());
    report.rows.push_back({"replace one among live", 512_B, 1, sets[i], column(own, &Cost::alone)});
  }
  report.goals.push_back({"among 10^6 blocks over among 10^3",
                          costs[(sets.size() - 1) * contenders.size()].alone / costs[0].alone, kScalingGoal, true});
}

void count_metadata(bool smoke, Report& report) {
  for (const Bytes bytes : {512_B, 4_KiB, 16_KiB, 64_KiB, 2_MiB}) {
    report.metadata.push_back(metadata_of(bytes, smoke ? 1000 : 1000000));
    report.goals.push_back({fmt::format("bookkeeping of 10^6 blocks of {}", text_of(bytes)),
                            report.metadata.back().part(), kMetadataGoal, true});
  }
}

// ---- printing -----------------------------------------------------------------------------------

void print_report(const Report& report) {
  fmt::print("{:<32}{:>8}{:>8}{:>9}", "ns of processor time", "block", "threads", "live");
  for (const std::string& name : report.contenders) fmt::print("{:>13}", name);
  fmt::print("\n");
  for (const Row& row : report.rows) {
    fmt::print("{:<32}{:>8}{:>8}{:>9}", row.workload, text_of(row.bytes), row.threads,
               row.live == 0 ? "" : std::to_string(row.live));
    for (const double ns : row.ns) fmt::print("{:>13.1f}", ns);
    fmt::print("\n");
  }
  fmt::print("\n{:<32}{:>14}{:>12}{:>12}{:>12}{:>12}\n", "bookkeeping, blocks of", "managed/MiB", "blocks/KiB",
             "runs/KiB", "map/KiB", "part");
  for (const Metadata& row : report.metadata) {
    fmt::print("{:<32}{:>14}{:>12}{:>12}{:>12}{:>11.4f}%\n", text_of(row.block_bytes), row.managed / 1_MiB,
               row.block_records / 1_KiB, row.runs / 1_KiB, row.page_map / 1_KiB, 100 * row.part());
  }
  fmt::print("\n{:<48}{:>10}{:>12}\n", "goal", "is", "should be");
  for (const Goal& goal : report.goals) {
    fmt::print("{:<48}{:>10.4g}{:>12}  {}\n", goal.what, goal.value,
               fmt::format("{} {}", goal.at_most ? "<=" : ">=", goal.goal), goal.reached() ? "reached" : "missed");
  }
}

nlohmann::ordered_json json_of(const Report& report) {
  nlohmann::ordered_json json;
  for (const Row& row : report.rows) {
    nlohmann::ordered_json times;
    for (std::size_t i = 0; i < row.ns.size(); ++i) times[report.contenders[i]] = row.ns[i];
    nlohmann::ordered_json live;  // null
    if (row.live != 0) live = row.live;
    json["results"].push_back({{"workload", row.workload},
                               {"block", text_of(row.bytes)},
                               {"threads", row.threads},
                               {"live", live},
                               {"ns", times}});
  }
  for (const Metadata& row : report.metadata) {
    json["metadata"].push_back({{"bytes", row.block_bytes.value()},
                                {"blocks", row.blocks},
                                {"managed", row.managed.value()},
                                {"block_records", row.block_records.value()},
                                {"runs", row.runs.value()},
                                {"page_map", row.page_map.value()},
                                {"part", row.part()}});
  }
  for (const Goal& goal : report.goals) {
    json["goals"].push_back({{"what", goal.what},
                             {"value", goal.value},
                             {"goal", goal.goal},
                             {"at_most", goal.at_most},
                             {"reached", goal.reached()}});
  }
  return json;
}

std::optional<Results> run(bool smoke) {
  Report report;
  {
    const std::vector<Entry> contenders = make_contenders(64_GiB);
    for (const Entry& entry : contenders) report.contenders.push_back(entry.name);
    measure_pairs(contenders, smoke, report);
    measure_touch(contenders, smoke, report);
    measure_mixes(contenders, smoke, report);
    measure_scaling(contenders, smoke, report);
  }
  count_metadata(smoke, report);
  return Results{json_of(report), [report] { print_report(report); }};
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::run_program(argc, argv,
                                     {"Cost of allocations, compared with other allocators",
                                      "a few operations only: a smoke test", TESSERA_BENCH_BUILD_DIR, ""},
                                     tessera::bench::run);
}
