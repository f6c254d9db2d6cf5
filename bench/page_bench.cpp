// What page classes cost a transfer: driver calls by kind, and the time of these calls and of the bytes. Also how many
// TLB entries the resident pages take afterwards.
//
// The engine moves runs of a device without contents in virtual time, and its driver calls are counted; the prices of
// one GPU turn the counts into time (remapping.hpp). Counts are exact and the same on every machine.
//
//   page_bench [--smoke] [--json]

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "must.hpp"
#include "program.hpp"
#include "remapping.hpp"
#include "sim/machine_builder.hpp"
#include "sim/sim_driver.hpp"
#include "sim/trace_driver.hpp"
#include "tlb_reach.hpp"

namespace tessera::bench {
namespace {

constexpr double kLink = 25e9;                        // bytes per second, each direction
constexpr std::uint64_t kBytesPerNanosecond = 1'000;  // of a kernel
constexpr int kWarmUp = 4, kPasses = 8;               // only the passes after the warm-up are counted

// Calls that are counted without a price: those that queue copies, and the events behind them.
constexpr std::array<DriverCall, 3> kCopies = {DriverCall::kCopyIn, DriverCall::kCopyOut, DriverCall::kCopyAll};

struct Row {
  std::string name;
  Bytes in, out;
  Remapping::Costs remapping = {};
  std::uint64_t copy_calls = 0, events = 0;
  TlbReach reach = {};  // of the pages that are present at the end

  double call_ms() const { return remapping.microseconds / 1e3; }
  // Both directions, one after the other.
  double copy_ms() const { return static_cast<double>((in + out).value()) / kLink * 1e3; }
};

// The engine and the page layer, on a device without contents.
class Machine {
 public:
  Machine(Bytes device, Bytes host, bool copies_at_once = true)
      : sim_(options(device, copies_at_once), clock_),
        driver_(sim_, std::size_t{1} << 21),
        layers_(driver_, clock_, {.device = device, .host = host}, sim_file(clock_, {}), host_pages_) {
    must(layers_.add_residency(must(make_policy("recency"))));
    const Bytes addresses = (device + host) * 4;
    must(layers_.add_pages(addresses, addresses));
  }
  ~Machine() {
    must(sim_.synchronize(DeviceId()));
    for (Run* run : runs_) must(layers_.pages->release(run));
  }

  std::vector<Run*> add(Bytes total, Bytes block) {
    std::vector<Run*> runs;
    for (Bytes sum; sum < total; sum += block) runs.push_back(add(block));
    return runs;
  }
  Run* add(Bytes block) {
    Run* const run = must(layers_.pages->acquire(block, {0, StreamId(), TagId()}, {}));
    run->live.store(1);
    runs_.push_back(run);
    return run;
  }
  void use(const std::vector<Run*>& runs) {
    for (Run* run : runs) use(run);
  }
  // Uses the run in a kernel that writes all of it, so that eviction must copy it, and waits for the kernel.
  void use(Run* run) {
    Use use;
    must(layers_.residency->begin_use({&run, 1}, StreamId(), Access::kWrite, Use::Kind::kGate, use));
    const DeviceRange range{run->address, run->shape.bytes()};
    const Nanoseconds duration(run->shape.bytes().value() / kBytesPerNanosecond);
    must(sim_.occupy(StreamId(), duration, {&range, 1}));
    layers_.residency->end_use({&run, 1}, StreamId(), use);
    must(sim_.synchronize(StreamId()));
    layers_.residency->advance();
  }
  void evict(const std::vector<Run*>& runs) {
    must(layers_.residency->evict(runs));
    must(layers_.residency->drain());
  }
  // Resets the counts.
  void begin() {
    must(layers_.residency->drain());
    note_records();
    driver_.clear();
    remapping_.begin();
    before_ = layers_.residency->figures().stats();
  }
  Row end(std::string name) {
    must(layers_.residency->drain());
    must(layers_.residency->figures().validate());
    const ResidencyStats after = layers_.residency->figures().stats();
    Row row{std::move(name), after.bytes_in - before_.bytes_in, after.bytes_out - before_.bytes_out};
    for (const DriverRecord& record : note_records()) {
      row.copy_calls += std::ranges::count(kCopies, record.call);
      row.events += record.call == DriverCall::kRecordEvent;
    }
    row.remapping = remapping_.costs();
    row.reach = reach();
    return row;
  }

 private:
  static SimOptions options(Bytes device, bool copies_at_once) {
    SimOptions options = sim_options({.device = device, .out_rate = kLink, .in_rate = kLink});
    options.copies_at_once = copies_at_once;
    return options;
  }
  std::vector<DriverRecord> note_records() {
    must(driver_.dropped() == 0 ? Status() : Status(Code::kInternal, "calls were not counted"));
    std::vector<DriverRecord> records = driver_.records();
    for (const DriverRecord& record : records) remapping_.note(record);
    return records;
  }
  TlbReach reach() const {
    std::vector<MappedPage> present;
    for (const Run* run : runs_) {
      for (std::uint32_t page = 0; page < run->shape.pages(); ++page) {
        const std::optional<Frame>& frame = run->pages[page].device;
        if (!frame) continue;
        present.push_back({run->address + run->shape.offset(page), frame->page_class});
      }
    }
    const TlbReach reach = reach_of(present);
    must(reach.large_only <= reach.merged && reach.merged <= reach.entries() && reach.entries() <= reach.base_only,
         "mixed pages take more entries than base pages, or fewer than large ones");
    return reach;
  }

  VirtualClock clock_;
  NoHostPages host_pages_;
  SimDriver sim_;
  TraceDriver driver_;
  SimLayers layers_;
  std::vector<Run*> runs_;
  Remapping remapping_;
  ResidencyStats before_;
};

// Evicts a full device and fetches everything again, in blocks of one size.
Row move_all(Bytes total, Bytes block, bool copies_at_once = true) {
  Machine machine(total, total, copies_at_once);
  const auto runs = machine.add(total, block);
  machine.use(runs);
  machine.begin();
  machine.evict(runs);
  machine.use(runs);
  return machine.end(
      fmt::format("all out and in, blocks of {} MiB{}", block / 1_MiB, copies_at_once ? "" : ", a call for each copy"));
}

// Two sets of three quarters of the device each, used alternately.
Row take_turns(Bytes device, Bytes first, Bytes second) {
  Machine machine(device, device * 2);
  const std::vector<Run*> sets[] = {machine.add(device * 3 / 4, first), machine.add(device * 3 / 4, second)};
  const auto turn = [&] {
    for (const auto& set : sets) machine.use(set);
  };
  for (int i = 0; i < kWarmUp; ++i) turn();
  machine.begin();
  for (int i = 0; i < kPasses; ++i) turn();
  return machine.end(fmt::format("two sets in turn, blocks of {} and {} MiB", first / 1_MiB, second / 1_MiB));
}

// A pass over the blocks of a full device, and one base page that does not fit next to them.
Row fall_short(Bytes device, Bytes block) {
  Machine machine(device, device);
  std::vector<Run*> runs = machine.add(device, block);
  runs.push_back(machine.add(kBasePage));
  for (int i = 0; i < kWarmUp; ++i) machine.use(runs);
  machine.begin();
  for (int i = 0; i < kPasses; ++i) machine.use(runs);
  return machine.end(fmt::format("short of 2 MiB, blocks of {} MiB", block / 1_MiB));
}

// Blocks of 2 to 510 MiB with log-uniform sizes, 1.5 times the device in total.
Row draw(Bytes device, int uses) {
  Machine machine(device, device * 2);
  std::mt19937_64 random(1);
  std::vector<Run*> runs;
  for (Bytes sum; sum < device * 3 / 2;) {
    const Bytes size = kBasePage * (std::uint64_t{1} << random() % 8);
    const Bytes block = size + kBasePage * (random() % (size / kBasePage));
    runs.push_back(machine.add(block));
    sum += runs.back()->shape.bytes();
  }
  const auto some = [&] {
    for (int i = 0; i < uses; ++i) machine.use(runs[random() % runs.size()]);
  };
  for (int i = 0; i < kWarmUp; ++i) some();
  machine.begin();
  some();
  return machine.end("drawn sizes, used by chance");
}

std::vector<Row> measure(bool smoke) {
  const Bytes all = smoke ? 256_MiB : 8_GiB;
  return {move_all(all, 2_MiB),
          move_all(all, 14_MiB),
          move_all(all, 14_MiB, false),
          move_all(all, 16_MiB),
          move_all(all, 32_MiB),
          move_all(all, 256_MiB),
          take_turns(all, 64_MiB, 64_MiB),
          take_turns(all, 16_MiB, 16_MiB),
          take_turns(all, 64_MiB, 16_MiB),
          fall_short(all, 16_MiB),
          fall_short(all, 64_MiB),
          draw(smoke ? 1_GiB : all, smoke ? 20 : 400)};
}

nlohmann::ordered_json row_to_json(const Row& row) {
  nlohmann::ordered_json json = {{"moves", row.name},
                                 {"in, GiB", static_cast<double>(row.in.value()) / (1_GiB).value()},
                                 {"out, GiB", static_cast<double>(row.out.value()) / (1_GiB).value()}};
  for (std::size_t i = 0; i < kPrices.size(); ++i) json[kPrices[i].name] = row.remapping.calls[i];
  json["copy"] = row.copy_calls;
  json["record"] = row.events;
  json["calls, ms"] = row.call_ms();
  json["copies, ms"] = row.copy_ms();
  return json;
}

nlohmann::ordered_json reach_to_json(const Row& row) {
  const TlbReach& reach = row.reach;
  return {{"present after", row.name},
          {"GiB", static_cast<double>(reach.mapped.value()) / (1_GiB).value()},
          {"entries, 2 MiB only", reach.base_only},
          {"as placed", reach.entries()},
          {"of them large", reach.large},
          {"full windows merged", reach.merged},
          {"32 MiB only", reach.large_only},
          {"mapped then, GiB", static_cast<double>(reach.large_only_mapped.value()) / (1_GiB).value()},
          {"covered, 2 MiB only", reach.covered_base_only()},
          {"covered as placed", reach.covered()},
          {"covered, 32 MiB only", reach.covered_large_only()}};
}

void print_reach(const std::vector<Row>& rows) {
  fmt::print("\n{:<54} {:>7} {:>9} {:>9} {:>7} {:>7} {:>9} {:>11}   {}\n", "TLB entries, present after", "GiB", "2 MiB",
             "as placed", "large", "merged", "32 MiB", "mapped then", "covered: 2 MiB, as placed, 32 MiB");
  for (const Row& row : rows) {
    const TlbReach& reach = row.reach;
    fmt::print("{:<54} {:>7.2f} {:>9} {:>9} {:>7} {:>7} {:>9} {:>11.2f}   {:.3f} {:.3f} {:.3f}\n", row.name,
               static_cast<double>(reach.mapped.value()) / (1_GiB).value(), reach.base_only, reach.entries(),
               reach.large, reach.merged, reach.large_only,
               static_cast<double>(reach.large_only_mapped.value()) / (1_GiB).value(), reach.covered_base_only(),
               reach.covered(), reach.covered_large_only());
  }
}

void print_rows(const std::vector<Row>& rows) {
  fmt::print("\n{:<54} {:>7} {:>7}", "moves", "GiB in", "out");
  for (const Price& price : kPrices) fmt::print(" {:>8}", price.name);
  fmt::print(" {:>8} {:>8} {:>10} {:>11}\n", "copy", "record", "calls, ms", "copies, ms");
  for (const Row& row : rows) {
    fmt::print("{:<54} {:>7.2f} {:>7.2f}", row.name, static_cast<double>(row.in.value()) / (1_GiB).value(),
               static_cast<double>(row.out.value()) / (1_GiB).value());
    for (const std::uint64_t calls : row.remapping.calls) fmt::print(" {:>8}", calls);
    fmt::print(" {:>8} {:>8} {:>10.1f} {:>11.1f}\n", row.copy_calls, row.events, row.call_ms(), row.copy_ms());
  }
}

std::optional<Results> run(bool smoke) {
  const std::vector<Row> rows = measure(smoke);
  Results results;
  for (const Row& row : rows) results.json["results"].push_back(row_to_json(row));
  for (const Row& row : rows) results.json["reach"].push_back(reach_to_json(row));
  results.print = [rows] {
    print_rows(rows);
    print_reach(rows);
  };
  return results;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::run_program(
      argc, argv, {"Cost of page classes for moves", "small devices: a smoke test", TESSERA_BENCH_BUILD_DIR, ""},
      tessera::bench::run);
}
