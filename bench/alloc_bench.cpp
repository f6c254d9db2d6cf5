// What a cached pair of allocate and free costs, beside jemalloc's own pair.
//
// jemalloc serves host memory, so its pair is the floor and not a rival: ours looks the block up in
// a page map, keeps count for the engine and stamps the stream besides. Both take turns in one run.
// The goal is a pair within 100 ns at each size.
#include <CLI/CLI.hpp>
#include <jemalloc/jemalloc.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "block/block_cache.hpp"
#include "driver/sim_driver.hpp"
#include "environment.hpp"

namespace tessera::bench {
namespace {

constexpr double kGoal = 100;  // nanoseconds for a pair, on one thread

struct Row {
  Bytes bytes;
  unsigned threads = 1;
  double ours = 0, reference = 0;  // nanoseconds of one thread's pair, medians
};

void must(const Status& status) {
  if (status.is_ok()) return;
  std::cerr << "alloc_bench: " << status.to_string() << "\n";
  std::exit(EXIT_FAILURE);
}
template <class T>
T must(Result<T> result) {
  must(result.status());
  return result.take();
}

// The allocator over a simulated device, which the measured pairs never reach.
struct Machine {
  SteadyClock clock;
  SimDriver driver{{.memory = 1_GiB}, clock};
  EventLog log{clock, 16};
  DeviceTier device{driver, DeviceId(0), 1_GiB};
  HostTier host{driver, Bytes(), Bytes()};
  std::unique_ptr<FileTier> file = must(FileTier::open("", Bytes()));
  std::unique_ptr<Residency> residency =
      must(Residency::create(driver, DeviceId(0), {device, host, *file},
                             must(make_policy("recency")), log, {}));
  std::unique_ptr<PageManager> pages =
      must(PageManager::create(driver, *residency, 16_GiB, 1_GiB));
  BlockCache blocks{*residency, *pages};
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Nanoseconds of one pair. A batch is shorter than a time slice, so that most see no other program.
double time_batch(const std::function<void(int pairs)>& work, int pairs) {
  const auto begin = std::chrono::steady_clock::now();
  work(pairs);
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  return took.count() / pairs;
}

// Batches of both in turn, on each of the row's threads at once.
Row measure(Machine& machine, StreamId stream, Row row, int rounds, int pairs) {
  const auto ours = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const Address block = must(machine.blocks.allocate(row.bytes, stream, TagId()));
      must(machine.blocks.free(block, stream));
    }
  };
  const auto reference = [&](int count) {
    for (int i = 0; i < count; ++i) {
      void* volatile block = je_malloc(row.bytes.value());  // volatile: the pair may not vanish
      je_free(block);
    }
  };
  std::barrier start(static_cast<std::ptrdiff_t>(row.threads));
  std::vector<std::vector<double>> mine(row.threads), theirs(row.threads);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < row.threads; ++i) {
    threads.emplace_back([&, i] {
      ours(16);  // fills this thread's caches
      reference(16);
      start.arrive_and_wait();
      for (int round = 0; round < rounds; ++round) {
        mine[i].push_back(time_batch(ours, pairs));
        theirs[i].push_back(time_batch(reference, pairs));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  const auto middle = [](const std::vector<std::vector<double>>& by_thread) {
    std::vector<double> all;
    for (const auto& times : by_thread) all.insert(all.end(), times.begin(), times.end());
    return median(std::move(all));
  };
  row.ours = middle(mine);
  row.reference = middle(theirs);
  return row;
}

bool reached(const Row& row) { return row.threads > 1 || row.ours <= kGoal; }

void print_table(const std::vector<Row>& rows) {
  fmt::print("\n{:>10} {:>8} {:>12} {:>14} {:>7}  {}\n", "bytes", "threads", "tessera/ns",
             "jemalloc/ns", "ratio", "goal");
  for (const Row& row : rows) {
    const std::string goal =
        row.threads > 1 ? "" : fmt::format("<= {} ns: {}", kGoal, reached(row) ? "reached" : "missed");
    fmt::print("{:>10} {:>8} {:>12.1f} {:>14.1f} {:>7.2f}  {}\n", row.bytes.value(), row.threads,
               row.ours, row.reference, row.ours / row.reference, goal);
  }
}

nlohmann::ordered_json json_of(const Row& row) {
  return {{"bytes", row.bytes.value()},  {"threads", row.threads},
          {"tessera_ns", row.ours},      {"jemalloc_ns", row.reference},
          {"ratio", row.ours / row.reference}, {"goal_ns", row.threads > 1 ? 0 : kGoal},
          {"reached", reached(row)}};
}

int run(bool smoke, bool json) {
  if (!smoke && !may_measure()) return EXIT_FAILURE;
  const int rounds = smoke ? 1 : 301;
  const int pairs = smoke ? 100 : 2000;
  Machine machine;
  const StreamId stream = must(machine.driver.create_stream(DeviceId(0)));
  std::vector<Row> rows;
  for (const Bytes bytes : {512_B, 1_MiB, 64_MiB}) {
    for (const unsigned threads : {1u, 2u}) {
      // jemalloc gives large blocks back to the system in every pair; fewer of them tell as much.
      const int count = bytes > 1_MiB ? pairs / 10 : pairs;
      rows.push_back(measure(machine, stream, {bytes, threads}, rounds, count));
    }
  }
  must(machine.driver.destroy_stream(stream));
  const Environment environment = read_environment(TESSERA_BENCH_BUILD_DIR);
  if (json) {
    nlohmann::ordered_json report = {{"environment", to_json(environment)}, {"smoke", smoke}};
    for (const Row& row : rows) report["results"].push_back(json_of(row));
    std::cout << report.dump(2) << "\n";
    return EXIT_SUCCESS;
  }
  print(environment);
  print_table(rows);
  if (smoke) fmt::print("\nA smoke run: the numbers mean nothing.\n");
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  bool smoke = false, json = false;
  CLI::App app("A cached pair of allocate and free beside jemalloc's own");
  app.add_flag("--smoke", smoke, "a few pairs: shows that it runs");
  app.add_flag("--json", json, "print one JSON object");
  CLI11_PARSE(app, argc, argv);
  return tessera::bench::run(smoke, json);
}
