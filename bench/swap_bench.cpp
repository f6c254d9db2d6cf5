// How close the engine comes to the speed of the link: swaps, both directions at once, and sleep, compared with plain
// copies.
//
// The simulated device has a fixed link speed, slow enough for its copy threads, and real bytes. The reference moves
// the same bytes in the same chunks by copies that need no decision, no fence and no mapping. Sleep returns the
// device's memory and wake gets new memory, so there the reference does that too. Goals: 97 % of the reference in one
// direction, 90 % in both directions at once.
//
//   swap_bench [--smoke] [--json]

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/clock.hpp"
#include "comparison.hpp"
#include "must.hpp"
#include "program.hpp"
#include "sim/machine_builder.hpp"
#include "sim/sim_driver.hpp"
#include "timing.hpp"

namespace tessera::bench {
namespace {

constexpr LinkSpeed kLink{4'000'000'000, {}};  // each direction
constexpr const char *kPlain = "plain copies", *kFrames = "copies and new memory";
constexpr double kOneWayGoal = 0.97, kBothWaysGoal = 0.9;

// Plain copies between consecutively mapped device pages and as many pinned host frames.
class PlainCopies {
 public:
  PlainCopies(SimDriver& sim, PageClass page_class, Bytes bytes)
      : sim_(sim),
        page_class_(page_class),
        page_(page_bytes(page_class)),
        bytes_(bytes),
        device_(sim, DeviceId(), bytes),
        host_(sim, bytes, Bytes()),
        start_(must(sim.reserve(bytes, page_))) {
    for (Bytes at; at < bytes; at += page_) host_frames_.push_back(must(host_.take(page_class)));
    mount();
    must(sim.fill(start_, 1, bytes, StreamId()));
    must(sim.synchronize(DeviceId()));
  }
  ~PlainCopies() {
    if (!device_frames_.empty()) unmount();
    must(sim_.release(start_, bytes_));
    for (const Frame& frame : host_frames_) host_.give_back(frame);
  }

  // Allocates and maps device memory; unmount() returns it to the driver.
  void mount() {
    for (Bytes at; at < bytes_; at += page_) {
      device_frames_.push_back(must(device_.take(page_class_)));
      must(sim_.map(start_ + at, page_, FrameId(device_frames_.back().value)));
    }
    must(sim_.set_access(start_, bytes_, DeviceId()));
  }
  void unmount() {
    must(sim_.unmap(start_, bytes_));
    for (const Frame& frame : device_frames_) device_.give_back(frame);
    device_frames_.clear();
    device_.trim();
  }

  void out(StreamId stream) {
    for (std::size_t i = 0; i < host_frames_.size(); ++i) {
      must(sim_.copy_out(HostTier::bytes_of(host_frames_[i]), start_ + page_ * i, page_, stream));
    }
  }
  void in(StreamId stream) {
    for (std::size_t i = 0; i < host_frames_.size(); ++i) {
      must(sim_.copy_in(start_ + page_ * i, HostTier::bytes_of(host_frames_[i]), page_, stream));
    }
  }

 private:
  SimDriver& sim_;
  const PageClass page_class_;
  const Bytes page_, bytes_;
  DeviceTier device_;
  HostTier host_;
  const Address start_;
  std::vector<Frame> device_frames_, host_frames_;
};

// The engine and the page layer over a device that holds one of two sets of runs.
class Engine {
 public:
  Engine(SimDriver& sim, const Clock& clock, Bytes set, Bytes block)
      : sim_(sim),
        layers_(sim, clock, {.device = set, .host = set * 2}, must(FileTier::open("", Bytes()))),
        stream_(must(sim.create_stream(DeviceId()))) {
    must(layers_.add_residency(must(make_policy("recency")), options()));
    must(layers_.add_pages(set * 8, set * 2));
    for (auto& runs : sets_) {
      for (Bytes sum; sum < set; sum += block) {
        runs.push_back(must(layers_.pages->acquire(block, {0, StreamId(), TagId()}, {})));
        runs.back()->live.store(1);
      }
    }
  }
  ~Engine() {
    must(sim_.synchronize(DeviceId()));
    for (auto& runs : sets_) {
      for (Run* run : runs) must(layers_.pages->release(run));
    }
    must(layers_.residency->drain());
    must(layers_.residency->streams().retire(stream_));
    must(sim_.destroy_stream(stream_));
  }

  // Copies are what is measured, and nothing here changes the bytes, so fingerprints would save the copies.
  static ResidencyOptions options() {
    ResidencyOptions options;
    options.fingerprints = false;
    return options;
  }
  // One launch that may write the whole set, so that its copies in host memory become stale.
  void use(int set) {
    Use use;
    auto& runs = sets_[set];
    must(layers_.residency->begin_use(runs, stream_, Access::kWrite, Use::Kind::kGate, use));
    must(sim_.occupy(stream_, Nanoseconds(1000), {}));
    layers_.residency->end_use(runs, stream_, use);
    must(sim_.synchronize(stream_));
  }
  void evict(int set) { must(layers_.residency->evict(sets_[set])); }
  void sleep() { must(layers_.residency->sleeper().sleep(std::nullopt)); }
  void wake() { must(layers_.residency->sleeper().wake(std::nullopt)); }
  // Waits until transfers are done, and validates the state.
  void rest() {
    must(layers_.residency->drain());
    must(layers_.residency->figures().validate());
  }
  ResidencyStats stats() const { return layers_.residency->figures().stats(); }

 private:
  SimDriver& sim_;
  SimLayers layers_;
  const StreamId stream_;
  std::vector<Run*> sets_[2];
};

// One line of the table, measured in turn with the others: evicted data has to be fetched again in between.
struct Line {
  const char* name;
  const char* beside;
  double goal;
  Bytes bytes;
  std::function<void()> ours, reference;
  std::function<void()> after = {};  // not timed
  std::vector<Times> times = {};

  // Alternates which side goes first: memory that was just returned to the system is obtained faster than older free
  // memory. The first round does not count.
  void run(int round) {
    Times took;
    const bool we_begin = round % 2 != 0;
    if (we_begin) took.ours = seconds(ours);
    took.reference = seconds(reference);
    if (!we_begin) took.ours = seconds(ours);
    if (round > 0) times.push_back(took);
    if (after) after();
  }
  Comparison result(const std::string& blocks) const {
    const Times middle = middle_pair(times);
    const auto amount = static_cast<double>(bytes.value());
    return {fmt::format("{}, {}", name, blocks), beside,        bytes, goal, amount / middle.ours,
            amount / middle.reference,           middle.ratio()};
  }
};

std::vector<Comparison> measure(PageClass page_class, Bytes block, Bytes set, int rounds) {
  SteadyClock clock;
  SimDriver sim({.memory = set * 4, .inbound = kLink, .outbound = kLink}, clock);
  const StreamId one = must(sim.create_stream(DeviceId())), other = must(sim.create_stream(DeviceId()));
  std::vector<Comparison> results;
  {
    Engine engine(sim, clock, set, block);
    PlainCopies first(sim, page_class, set), second(sim, page_class, set);
    const auto done = [&] { must(sim.synchronize(DeviceId())); };
    const auto plain_out = [&] { first.out(one), done(); };
    const auto plain_in = [&] { first.in(one), done(); };
    const auto both = [&] { first.out(one), second.in(other), done(); };
    int set_there = 0;
    Line lines[] = {
        {"swap out", kPlain, kOneWayGoal, set, [&] { engine.evict(0); }, plain_out},
        {"swap in", kPlain, kOneWayGoal, set, [&] { engine.use(0); }, plain_in, [&] { engine.rest(); }},
        {"one set for another", kPlain, kBothWaysGoal, set * 2, [&] { engine.use(set_there = 1 - set_there); }, both,
         [&] { engine.rest(); }},
        {"and back", kPlain, kBothWaysGoal, set * 2, [&] { engine.use(set_there = 1 - set_there); }, both,
         [&] { engine.rest(); }},
        {"sleep", kFrames, kOneWayGoal, set, [&] { engine.sleep(); }, [&] { plain_out(), first.unmount(); }},
        {"wake", kFrames, kOneWayGoal, set, [&] { engine.wake(); }, [&] { first.mount(), plain_in(); },
         [&] { engine.use(0); }}};
    engine.use(1);
    engine.use(0);
    const ResidencyStats before = engine.stats();
    for (int round = 0; round <= rounds; ++round) {
      for (Line& line : lines) line.run(round);
      // Otherwise the engine did not move what the line claims.
      const ResidencyStats now = engine.stats();
      const auto moved = static_cast<std::uint64_t>(round + 1) * 4;
      must(now.bytes_out - before.bytes_out >= set * moved, "fewer bytes were evicted than expected");
      must(now.bytes_in - before.bytes_in >= set * moved, "fewer bytes were fetched than expected");
    }
    for (const Line& line : lines) {
      results.push_back(line.result(fmt::format("blocks of {} MiB", block / 1_MiB)));
    }
  }
  must(sim.destroy_stream(one));
  must(sim.destroy_stream(other));
  return results;
}

std::optional<Results> run(bool smoke) {
  const Bytes set = smoke ? 64_MiB : 1_GiB;
  const int rounds = smoke ? 2 : 6;  // pairs: in one round ours goes first, in the other the reference
  std::vector<Comparison> rows;
  for (const auto& [page_class, block] : {std::pair(PageClass::k16MiB, 16_MiB), std::pair(PageClass::kLarge, 32_MiB)}) {
    for (Comparison& row : measure(page_class, block, set, rounds)) rows.push_back(std::move(row));
  }
  Results results;
  results.json["results"] = to_json(rows);
  results.print = [rows] { print(rows); };
  return results;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  return tessera::bench::run_program(argc, argv,
                                     {"The engine compared with plain copies over the same link",
                                      "small sets: a smoke test", TESSERA_BENCH_BUILD_DIR, ""},
                                     tessera::bench::run);
}
