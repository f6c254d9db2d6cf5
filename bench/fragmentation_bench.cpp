// How much memory blocks of mixed sizes need beyond their own bytes, compared with other allocators.
//
// Each contender runs the same million operations alone. The memory it holds is counted, not timed, so the figures are
// the same on a busy machine. Then the possible gain of two things that Tessera does not do: compacting live blocks,
// and placing short-lived blocks apart from long-lived ones.
//
//   fragmentation_bench [--smoke] [--json]

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "compaction.hpp"
#include "contender.hpp"
#include "fragmentation.hpp"
#include "program.hpp"
#include "two_lives.hpp"

namespace tessera::bench {
namespace {

constexpr int kOperations = 1000000;
constexpr int kLimitedOperations = 200000;  // per attempt in the search for the least memory

struct Row {
  std::string contender;
  Fragmentation figures;
  std::optional<Bytes> least;  // least sufficient memory; empty if the contender's memory cannot be limited
};

std::vector<Row> measure(bool smoke) {
  using Maker = std::unique_ptr<Contender> (*)(Bytes);
  const std::map<std::string, Maker> limited = {{"tessera", make_tessera},
                                                {"best-fit", make_best_fit},
                                                {"torch-rules", make_torch_rules},
                                                {"pages of 2 MiB", make_base_pages},
                                                {"pages of 32 MiB", make_large_pages}};
  std::vector<Entry> contenders = make_contenders(64_GiB);
  for (const char* pages : {"pages of 2 MiB", "pages of 32 MiB"}) {
    contenders.push_back({pages, limited.at(pages)(64_GiB)});
  }
  std::vector<Row> rows;
  for (const Entry& entry : contenders) {
    const auto figures = fragmentation(*entry.contender, smoke ? 4000 : kOperations);
    if (!figures) continue;
    rows.push_back({entry.name, *figures, std::nullopt});
    const auto maker = limited.find(entry.name);
    if (smoke || maker == limited.end()) continue;
    rows.back().least = least_memory(maker->second, kLimitedOperations);
  }
  return rows;
}

void print_rows(const std::vector<Row>& rows) {
  fmt::print("\n{:<32}{:>14}{:>14}{:>12}{:>12}{:>18}\n", "10^6 mixed operations", "most held/MiB", "of it used",
             "held/used", "mean", "least memory/MiB");
  for (const auto& [name, figures, least] : rows) {
    fmt::print("{:<32}{:>14}{:>14}{:>12.3f}{:>12.3f}{:>18}\n", name, figures.reserved / 1_MiB, figures.used / 1_MiB,
               static_cast<double>(figures.reserved.value()) / static_cast<double>(figures.used.value()), figures.mean,
               least ? std::to_string(*least / 1_MiB) : "");
  }
}

double ratio(Bytes bytes, Bytes to) { return static_cast<double>(bytes.value()) / static_cast<double>(to.value()); }

void print_compaction(const std::vector<CompactionRow>& rows) {
  fmt::print("\n{:<18}{:<34}{:>9}{:>9}{:>10}{:>10}{:>10}{:>8}{:>10}{:>9}{:>8}{:>8}\n", "blocks", "MiB", "used", "held",
             "best fit", "in slabs", "repacked", "won", "to move", "cached", "spare", "unmaps");
  for (const auto& [blocks, when, is, trimmed, best_fit] : rows) {
    fmt::print("{:<18}{:<34}{:>9}{:>9}{:>10}{:>10}{:>10}{:>7.1f}%{:>10}{:>9}{:>8}{:>8}\n", blocks, when,
               is.used / 1_MiB, is.held / 1_MiB, best_fit / 1_MiB, is.in_slabs / 1_MiB, is.repacked / 1_MiB,
               100 * is.won(), is.moved / 1_MiB, trimmed.cached / 1_MiB, trimmed.spare / 1_MiB, trimmed.unmaps);
  }
}

void print_lives(const std::vector<LivesRow>& rows) {
  fmt::print("\n{:<26}{:<26}{:<10}{:>10}{:>10}{:>12}{:>10}{:>12}\n", "blocks", "short lives end", "placed", "used/MiB",
             "held/MiB", "held/used", "windows", "base pages");
  for (const auto& [blocks, when, placed, mean] : rows) {
    fmt::print("{:<26}{:<26}{:<10}{:>10}{:>10}{:>12.4f}{:>10}{:>12}\n", blocks, when, placed, mean.used / 1_MiB,
               mean.held / 1_MiB, ratio(mean.held, mean.used), mean.windows, mean.base_pages);
  }
}

std::optional<Results> run(bool smoke) {
  const std::vector<Row> rows = measure(smoke);
  const auto compaction = measure_compaction(smoke ? 2000 : 200000, smoke ? 256_MiB : 8_GiB);
  const auto lives = measure_two_lives(smoke ? 4 : 128);
  Results results;
  for (const auto& [name, figures, least] : rows) {
    results.json["results"].push_back({{"contender", name},
                                       {"reserved", figures.reserved.value()},
                                       {"used", figures.used.value()},
                                       {"mean_ratio", figures.mean},
                                       {"least_memory", least.value_or(Bytes()).value()}});
  }
  for (const auto& [blocks, when, is, trimmed, best_fit] : compaction) {
    results.json["compaction"].push_back({{"blocks", blocks},
                                          {"when", when},
                                          {"used", is.used.value()},
                                          {"held", is.held.value()},
                                          {"held by best fit", best_fit.value()},
                                          {"of it slabs", is.in_slabs.value()},
                                          {"held if repacked", is.repacked.value()},
                                          {"would be won", is.won()},
                                          {"by copying", is.moved.value()},
                                          {"cached", trimmed.cached.value()},
                                          {"spare", trimmed.spare.value()},
                                          {"unmaps", trimmed.unmaps}});
  }
  for (const auto& [blocks, when, placed, mean] : lives) {
    results.json["lives"].push_back({{"blocks", blocks},
                                     {"short lives end", when},
                                     {"placed", placed},
                                     {"used", mean.used.value()},
                                     {"held", mean.held.value()},
                                     {"held over used", ratio(mean.held, mean.used)},
                                     {"windows of base pages", mean.windows},
                                     {"base pages", mean.base_pages}});
  }
  results.print = [rows, compaction, lives] {
    print_rows(rows);
    print_compaction(compaction);
    print_lives(lives);
  };
  return results;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::run_program(
      argc, argv,
      {"Memory overhead of blocks of mixed sizes", "a few operations only: a smoke test", TESSERA_BENCH_BUILD_DIR, ""},
      tessera::bench::run);
}
