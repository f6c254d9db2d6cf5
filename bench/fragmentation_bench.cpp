// How much memory blocks of mixed sizes need beyond their own bytes, beside other allocators.
//
// Each contender goes through the same million operations by itself; what it holds is counted, not timed, so
// that the figures are the same on a busy machine.
//
//   fragmentation_bench [--smoke] [--json]

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "contender.hpp"
#include "fragmentation.hpp"
#include "program.hpp"

namespace tessera::bench {
namespace {

constexpr int kOperations = 1000000;
constexpr int kLimitedOperations = 200000;  // of each try for the least memory

struct Row {
  std::string contender;
  Fragmentation figures;
  std::optional<Bytes> least;  // memory that suffices; nothing where it cannot be limited
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
  fmt::print("\n{:<32}{:>14}{:>14}{:>12}{:>12}{:>18}\n", "10^6 mixed operations", "most held/MiB",
             "of it used", "held/used", "mean", "least memory/MiB");
  for (const auto& [name, figures, least] : rows) {
    fmt::print("{:<32}{:>14}{:>14}{:>12.3f}{:>12.3f}{:>18}\n", name, figures.reserved / 1_MiB,
               figures.used / 1_MiB,
               static_cast<double>(figures.reserved.value()) /
                   static_cast<double>(figures.used.value()),
               figures.mean, least ? std::to_string(*least / 1_MiB) : "");
  }
}

std::optional<Results> run(bool smoke) {
  const std::vector<Row> rows = measure(smoke);
  Results results;
  for (const auto& [name, figures, least] : rows) {
    results.json["results"].push_back({{"contender", name},
                                       {"reserved", figures.reserved.value()},
                                       {"used", figures.used.value()},
                                       {"mean_ratio", figures.mean},
                                       {"least_memory", least.value_or(Bytes()).value()}});
  }
  results.print = [rows] { print_rows(rows); };
  return results;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::run_program(
      argc, argv,
      {"How much memory blocks of mixed sizes need", "a few operations: shows that it runs",
       TESSERA_BENCH_BUILD_DIR, ""},
      tessera::bench::run);
}
