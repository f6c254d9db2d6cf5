#include "sim/simulated_engine.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "base/log.hpp"

namespace tessera {
namespace {

// The maximum number of steps that a program has queued.
constexpr std::uint64_t kAhead = 256;
// Addresses cost nothing, and a fragmented heap needs more of them than it has bytes.
constexpr std::uint64_t kAddressesPerByte = 4;

SimOptions device_options(const Machine& machine) {
  SimOptions options = sim_options(machine);
  options.watches_memory =
      has_peer(machine);  // to identify copies between peers; replays and tests check the same engine
  options.name = "simulation";
  return options;
}

// Forwards to a policy with another owner.
class Borrowed final : public Policy {
 public:
  explicit Borrowed(const Policy& policy) : policy_(policy) {}
  std::string_view name() const override { return policy_.name(); }
  Decision decide(const Snapshot& snapshot) const override { return policy_.decide(snapshot); }

 private:
  const Policy& policy_;
};

void note(const Status& status) {
  if (!status.is_ok()) log_line(LogLevel::kDebug, "cleanup after a simulation failed: {}", status.to_string());
}

}  // namespace

SimulatedEngine::SimulatedEngine(const Iteration& iteration, const Machine& machine, const Strategy& strategy)
    : learned_(iteration),
      strategy_(strategy),
      iteration_(with_small_runs(iteration)),
      frees_(frees_by_step(iteration_)),
      driver_(device_options(machine), clock_),
      held_(iteration_.runs.size()),
      pinned_(iteration_.runs.size()),
      last_uses_(iteration_.runs.size()) {}

Result<std::unique_ptr<SimulatedEngine>> SimulatedEngine::create(const Iteration& iteration, const Machine& machine,
                                                                 const Strategy& strategy, const Policy& policy) {
  std::unique_ptr<SimulatedEngine> engine(new SimulatedEngine(iteration, machine, strategy));
  std::uint32_t last_stream = 0;
  for (const IterationStep& step : iteration.steps) last_stream = std::max(last_stream, step.stream);
  while (engine->streams_.size() <= last_stream) {
    StreamId stream;
    TESSERA_TRY_ASSIGN(stream, engine->driver_.create_stream(DeviceId()));
    engine->streams_.push_back(stream);
  }
  const TierSizes sizes{.device = machine.device + machine.small,
                        .host = machine.host,
                        .peer = has_peer(machine) ? machine.peer : Bytes()};
  engine->layers_ = std::make_unique<SimLayers>(engine->driver_, engine->clock_, sizes,
                                                sim_file(engine->clock_, machine), engine->host_pages_, 0);
  SimLayers& layers = *engine->layers_;
  if (layers.peer) TESSERA_TRY(layers.peer->admit(DeviceId()));
  TESSERA_TRY(layers.add_residency(std::make_unique<Borrowed>(policy), {.grace = machine.grace}));
  if (machine.unseen) layers.residency->expect_unseen_work();
  const Bytes addresses = layers.tiers().capacity() * kAddressesPerByte;
  TESSERA_TRY(layers.add_pages(addresses, addresses));
  auto blocks = BlockCacheOptions::for_device(layers.device.usage().capacity);
  blocks.planned_limit = {};  // the iteration consists of runs
  layers.add_blocks(blocks);
  return engine;
}

SimulatedEngine::~SimulatedEngine() {
  note(driver_.synchronize(DeviceId()));
  layers_.reset();
  for (const EventId event : events_) note(driver_.destroy_event(event));
  for (const StreamId stream : streams_) note(driver_.destroy_stream(stream));
}

Result<Nanoseconds> SimulatedEngine::play(const std::atomic<Nanoseconds>& enough, const std::atomic<bool>& stop,
                                          const NoteFaster& faster) {
  std::uint32_t first = 0;
  if (learned_.last_step) {
    TESSERA_TRY(restore_residency(stop));
    start_plan();
    first = *learned_.last_step + 1;
  }
  for (; !settled_; ++passes_) {
    if (passes_ == kAlone && !has_active_plan_) start_plan();
    const StreamId stream = streams_[iteration_.steps[first % iteration_.steps.size()].stream];
    TESSERA_TRY(driver_.host_function(stream, [this, pass = passes_] { begin_pass(pass); }));
    for (std::uint32_t step = std::exchange(first, 0); step < iteration_.steps.size() && !settled_; ++step) {
      enough_ = enough.load(std::memory_order_relaxed);
      const bool stopped = is_hopeless() || stop.load(std::memory_order_relaxed);
      if (stopped) return Status(Code::kBusy, "stopped");
      TESSERA_TRY(play_step(step));
      const Nanoseconds clearly = std::exchange(clearly_, {});
      if (clearly && faster) faster(clearly);
    }
  }
  return *settled_;
}

// Reproduces the program's current state. Runs that are off the device are placed first, so that the others
// have room.
Status SimulatedEngine::restore_residency(const std::atomic<bool>& stop) {
  struct Placed {
    const IterationRun* run;
    std::optional<std::uint32_t> index;  // of the iteration; none = no step uses it
    std::uint64_t present;
  };
  std::vector<Placed> all;
  const auto add = [&](const IterationRun& run, std::optional<std::uint32_t> index) {
    const auto away =
        std::ranges::count_if(run.pages, [](Locations at) { return !at.empty() && !at.has(Location::kDevice); });
    const std::uint64_t present = run.pages.size() - static_cast<std::uint64_t>(away);
    if (!run.pages.empty()) all.push_back({&run, index, present * run.bytes.value() / run.pages.size()});
  };
  const std::vector<bool> live = live_behind(iteration_, frees_, *learned_.last_step);
  for (std::uint32_t i = 0; i < learned_.runs.size(); ++i) {
    if (live[i]) add(learned_.runs[i], i);
  }
  for (const IterationRun& run : learned_.others) add(run, std::nullopt);
  std::ranges::stable_sort(all, {}, &Placed::present);
  for (const Placed& each : all) {
    if (stop.load(std::memory_order_relaxed)) return Status(Code::kBusy, "stopped");
    Run* placed = nullptr;
    if (each.index) {
      TESSERA_TRY(allocate(*each.index, streams_.front()));
      placed = held_[*each.index];
    } else {
      Address address;
      TESSERA_TRY_ASSIGN(address, layers_->blocks->allocate(each.run->bytes, streams_.front(), each.run->tag));
      placed = layers_->pages->find(address);
      if (each.run->pinned) TESSERA_TRY(layers_->residency->pins().pin(placed));
    }
    if (!each.run->pinned) TESSERA_TRY(layers_->residency->place(placed, each.run->pages));
  }
  return {};
}

void SimulatedEngine::start_plan() {
  has_active_plan_ = true;
  layers_->residency->activate_plan(learned_, strategy_, std::span(held_).first(learned_.runs.size()));
}

// Called when the device reaches the pass.
void SimulatedEngine::begin_pass(int pass) {
  pass_ = pass;
  const Nanoseconds began = std::exchange(pass_began_, clock_.now());
  const Nanoseconds before = std::exchange(last_pass_, pass_began_ - began);
  if (pass == kAlone && !learned_.last_step) alone_ = last_pass_;
  if (pass == kAlone + 1 && last_pass_ + last_pass_ / kClearly < alone_) clearly_ = last_pass_;
  if (pass == kUnsettled) unsettled_ = pass_began_;
  if (pass < kAlone + 2 || settled_) return;
  longer_ = last_pass_ > enough_ ? longer_ + 1 : 0;
  const Nanoseconds longer = std::max(before, last_pass_), shorter = std::min(before, last_pass_);
  if ((longer - shorter) * kAlike <= longer) {
    settled_ = (before + last_pass_) / 2;
  } else if (pass >= kMostPasses) {
    settled_ = (pass_began_ - unsettled_) / static_cast<std::uint64_t>(pass - kUnsettled);
  }
}

bool SimulatedEngine::is_hopeless() const {
  if (pass_ <= kAlone) return false;
  const Nanoseconds since = clock_.now() - pass_began_;
  return longer_ >= kMostLonger || (since > enough_ && (since - enough_) * kHopeless > enough_);
}

Status SimulatedEngine::play_step(std::uint32_t index) {
  look();
  const IterationStep& step = iteration_.steps[index];
  if (step.before) TESSERA_TRY(driver_.occupy(streams_[step.stream], step.before, {}));
  operands_.clear();
  ranges_.clear();
  for (const RunUse& use : iteration_.uses_of(index)) {
    if (held_[use.run] == nullptr) TESSERA_TRY(allocate(use.run, streams_[step.stream]));
    operands_.push_back(held_[use.run]);
    ranges_.push_back({held_[use.run]->address, held_[use.run]->shape.bytes()});
  }
  TESSERA_TRY(queue(step));
  for (const std::uint32_t index_of_run : frees_[index]) {
    const Run* const run = std::exchange(held_[index_of_run], nullptr);
    if (run != nullptr) TESSERA_TRY(layers_->blocks->free(run->address, streams_[step.stream]));
  }
  return {};
}

Status SimulatedEngine::allocate(std::uint32_t index, StreamId stream) {
  const IterationRun& run = iteration_.runs[index];
  Address address;
  TESSERA_TRY_ASSIGN(address, layers_->blocks->allocate(run.bytes, stream, run.tag));
  held_[index] = layers_->pages->find(address);
  TESSERA_TRY(set_recompute(index));
  if (!run.pinned || pinned_[index]) return {};
  pinned_[index] = true;
  return layers_->residency->pins().pin(held_[index]);
}

Status SimulatedEngine::queue(const IterationStep& step) {
  if (queued_ - awaited_ == kAhead) TESSERA_TRY(await_oldest());
  if (events_.size() < kAhead) {
    EventId event;
    TESSERA_TRY_ASSIGN(event, driver_.create_event(DeviceId()));
    events_.push_back(event);
  }
  if (streams_.size() > 1) TESSERA_TRY(await_others(step));
  const StreamId stream = streams_[step.stream];
  Use use;
  if (!has_active_plan_) use.work = &step;  // all steps look different, so that no iteration is learned
  TESSERA_TRY(layers_->residency->begin_use(operands_, stream, Access::kRead, Use::Kind::kGate, use));
  for (std::uint32_t i = step.first_use; i < step.end_use; ++i) {
    if (iteration_.uses[i].writes) layers_->residency->note_written(*operands_[i - step.first_use]);
  }
  Status queued = driver_.occupy(stream, step.duration, ranges_);
  if (queued.is_ok()) queued = driver_.record_event(events_[queued_++ % kAhead], stream);
  layers_->residency->end_use({}, stream, use);
  for (std::uint32_t i = step.first_use; i < step.end_use; ++i) {
    if (iteration_.uses[i].writes) TESSERA_TRY(set_recompute(iteration_.uses[i].run));
  }
  return queued;
}

// A reader waits for the last writer, a writer for all previous uses.
Status SimulatedEngine::await_others(const IterationStep& step) {
  const StreamId own = streams_[step.stream];
  for (std::uint32_t i = step.first_use; i < step.end_use; ++i) {
    const RunUse& use = iteration_.uses[i];
    LastUses& last = last_uses_[use.run];
    for (std::uint32_t other = 0; use.writes && other < streams_.size(); ++other) {
      if (other != step.stream) TESSERA_TRY(await(last.any[other], own));
    }
    if (!use.writes && last.written_on != step.stream) TESSERA_TRY(await(last.written, own));
    last.any[step.stream] = queued_ + 1;
    if (!use.writes) continue;
    last.written = queued_ + 1;
    last.written_on = step.stream;
  }
  return {};
}

// Events of older steps have left the ring; those steps have completed.
Status SimulatedEngine::await(std::uint64_t number, StreamId by) {
  return number <= awaited_ ? Status() : driver_.wait_event(by, events_[(number - 1) % kAhead]);
}

Status SimulatedEngine::set_recompute(std::uint32_t index) {
  const Nanoseconds time = iteration_.runs[index].recompute;
  if (!time) return {};
  Run* const run = held_[index];
  const auto work = [this, time, range = DeviceRange{run->address, run->shape.bytes()}](StreamId on) {
    return driver_.occupy(on, time, {&range, 1});
  };
  return layers_->residency->recomputation().set(run, {work, time});
}

Status SimulatedEngine::await_oldest() {
  const EventId oldest = events_[awaited_ % kAhead];
  Status over = driver_.query(oldest);
  while (over.code() == Code::kNotReady && clock_.step()) {
    look();
    over = driver_.query(oldest);
  }
  ++awaited_;
  return over;
}

void SimulatedEngine::look() {
  if (pump_.is_due(clock_)) layers_->residency->advance();
}

Simulated simulate_plan(const Iteration& iteration, const Machine& machine, const Strategy& strategy,
                        const Policy& policy, const std::atomic<Nanoseconds>& enough, const std::atomic<bool>& stop,
                        const SimulatedEngine::NoteFaster& faster) {
  const auto engine = SimulatedEngine::create(iteration, machine, strategy, policy);
  Simulated played{engine.is_ok() ? engine.value()->play(enough, stop, faster) : Result<Nanoseconds>(engine.status()),
                   {}};
  if (engine.is_ok()) {
    played.alone = engine.value()->alone();
    played.uses = static_cast<std::uint64_t>(engine.value()->passes()) * iteration.uses.size();
  }
  log_line(LogLevel::kDebug, "simulated {}: {}", strategy.name,
           played.time.is_ok() ? fmt::format("{} ns", played.time.value().value()) : played.time.status().to_string());
  return played;
}

}  // namespace tessera
