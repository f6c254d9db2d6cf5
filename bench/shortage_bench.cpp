// The time of a launch that is short of memory, by the number of the program's runs.
//
// A launch uses a run that is not resident, so another run has to be evicted. In the first case the device holds all
// runs that are not in host memory; in the second host memory is full too, so that a third run is spilled to the file.
// Transfers take virtual time and copy nothing: the figures are the engine's processor time. Room in host memory is
// made for several launches at once, and so is room on a device with thousands of runs, so some launches take longer
// there.
//
//   shortage_bench [--smoke] [--json]

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "must.hpp"
#include "program.hpp"
#include "sim/machine_builder.hpp"
#include "sim/sim_driver.hpp"

namespace tessera::bench {
namespace {

constexpr std::size_t kAtOnce = 32;          // runs per launch, until all have been used once
constexpr double kLink = 25e9, kDisk = 3e9;  // bytes per second

// Of this thread, so that other work on the machine does not count.
std::chrono::nanoseconds processor_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

// The number of base-page runs in each tier; each tier is full.
struct Case {
  const char* short_of;
  std::size_t on_device, in_host, in_file;

  std::size_t runs() const { return on_device + in_host + in_file; }
};

struct Row {
  Case of;
  double median = 0, mean = 0, slow = 0;  // microseconds; one launch in a hundred is slower than `slow`
};

class Machine {
 public:
  explicit Machine(const Case& of)
      : machine_(machine_of(of)),
        sim_(sim_options(machine_), clock_),
        layers_(sim_, clock_, {.device = machine_.device, .host = machine_.host}, sim_file(clock_, machine_),
                host_pages_) {
    must(layers_.add_residency(must(make_policy("lru"))));
    const Bytes addresses = kBasePage * of.runs() * 2;
    must(layers_.add_pages(addresses, addresses));
    for (std::size_t i = 0; i < of.runs(); ++i) {
      runs_.push_back(must(layers_.pages->acquire(kBasePage, {0, StreamId(), TagId()}, {})));
      runs_.back()->live.store(1);
    }
    for (std::size_t first = 0; first < of.runs(); first += kAtOnce) {
      use(std::span(runs_).subspan(first, std::min(kAtOnce, of.runs() - first)));
    }
  }
  ~Machine() {
    must(sim_.synchronize(DeviceId()));
    for (Run* run : runs_) must(layers_.pages->release(run));
  }

  // A launch that writes the runs, including the check for completed work.
  void use(std::span<Run* const> runs) {
    Use use;
    must(layers_.residency->begin_use(runs, StreamId(), Access::kWrite, Use::Kind::kGate, use));
    must(sim_.occupy(StreamId(), Nanoseconds(1000), {}));
    layers_.residency->end_use(runs, StreamId(), use);
    must(sim_.synchronize(StreamId()));
    layers_.residency->advance();
  }
  // The least recently used run is the one that is not resident.
  double use_next() {
    const auto start = processor_time();
    use({&runs_[next_++ % runs_.size()], 1});
    return std::chrono::duration<double, std::micro>(processor_time() - start).count();
  }
  void validate() { must(layers_.residency->figures().validate()); }

 private:
  static tessera::Machine machine_of(const Case& of) {
    return {.device = kBasePage * of.on_device,
            .host = kBasePage * (of.in_host + (of.in_file ? 0 : of.on_device)),
            .file = kBasePage * of.in_file * 2,
            .out_rate = kLink,
            .in_rate = kLink,
            .file_write_rate = kDisk,
            .file_read_rate = kDisk};
  }

  const tessera::Machine machine_;
  VirtualClock clock_;
  NoHostPages host_pages_;
  SimDriver sim_;
  SimLayers layers_;
  std::vector<Run*> runs_;
  std::size_t next_ = 0;
};

Row measure(const Case& of, std::size_t launches) {
  Machine machine(of);
  for (std::size_t i = 0; i < launches / 4; ++i) machine.use_next();
  std::vector<double> times;
  for (std::size_t i = 0; i < launches; ++i) times.push_back(machine.use_next());
  machine.validate();
  std::ranges::sort(times);
  const double sum = std::accumulate(times.begin(), times.end(), 0.0);
  return {of, times[times.size() / 2], sum / static_cast<double>(times.size()), times[times.size() * 99 / 100]};
}

std::optional<Results> run(bool smoke) {
  std::vector<Row> rows;
  for (const std::size_t runs : smoke ? std::vector<std::size_t>{100} : std::vector<std::size_t>{1'000, 20'000}) {
    const std::size_t few = smoke ? 32 : 64;
    for (const Case& of :
         {Case{"device", few, runs - few, 0}, Case{"device", runs / 2, runs / 2, 0},
          Case{"device and host", few, few, runs - 2 * few}, Case{"device and host", few, runs / 2, runs / 2 - few}}) {
      rows.push_back(measure(of, smoke ? 20 : 400));
    }
  }
  Results results;
  for (const Row& row : rows) {
    results.json["results"].push_back({{"short of", row.of.short_of},
                                       {"runs", row.of.runs()},
                                       {"on the device", row.of.on_device},
                                       {"in host memory", row.of.in_host},
                                       {"in the file", row.of.in_file},
                                       {"a launch, us", row.median},
                                       {"in the mean, us", row.mean},
                                       {"a slow one, us", row.slow}});
  }
  results.print = [rows] {
    fmt::print("\n{:<16} {:>8} {:>14} {:>15} {:>12} {:>13} {:>16} {:>15}\n", "short of", "runs", "on the device",
               "in host memory", "in the file", "a launch, us", "in the mean, us", "a slow one, us");
    for (const Row& row : rows) {
      fmt::print("{:<16} {:>8} {:>14} {:>15} {:>12} {:>13.1f} {:>16.1f} {:>15.1f}\n", row.of.short_of, row.of.runs(),
                 row.of.on_device, row.of.in_host, row.of.in_file, row.median, row.mean, row.slow);
    }
  };
  return results;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::run_program(
      argc, argv, {"Time of a launch that is short of memory", "few runs: a smoke test", TESSERA_BENCH_BUILD_DIR, ""},
      tessera::bench::run);
}
