// The allocator itself on a machine in virtual time, running one learned iteration of a program.
//
// Everything from the block layer down is the production code, so a strategy's simulated time is its real time,
// as far as the machine's rates and the step durations are accurate. The iteration takes the place of the
// program: it announces and queues step after step, ahead of its device, allocates runs that are used fresh and
// frees those that are not used again. Steps on several streams overlap, but each waits for the earlier steps
// that conflict with its reads and writes, as a correct program does.
//
// Thread safety: one thread; concurrent simulations share no state.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sim/machine_builder.hpp"
#include "sim/sim_driver.hpp"

namespace tessera {

class SimulatedEngine {
 public:
  // The first pass is the rest of the program's current iteration (Iteration::last_step), starting with all
  // live runs where they are now. If that is unknown, the policy runs without a strategy in the first pass, and
  // its final state is the strategy's initial state. Later passes settle: while the device still has room, the
  // first of them can be up to a tenth faster or slower than all that follow. Two passes in a row that differ
  // by less than 1 / kAlike are settled; some alternate forever, and then the mean of the later half counts.
  static constexpr int kAlone = 1, kMostPasses = 12, kUnsettled = kMostPasses / 2;
  static constexpr std::uint64_t kAlike = 1000;
  // A pass that exceeds `enough` by more than a fraction 1 / kHopeless will not settle below it, and neither will
  // kMostLonger longer passes in a row.
  static constexpr std::uint64_t kHopeless = 4;
  // A strategy is clearly faster than none if its first whole pass takes less than the pass without a strategy by more
  // than this fraction of its time, which is more than passes differ while they settle.
  static constexpr std::uint64_t kClearly = 8;
  static constexpr int kMostLonger = 3;

  // REQUIRES: all arguments but the machine, and the strategy's policy, outlive it; the machine's rates are not
  // zero. Errors: as Residency::create.
  static Result<std::unique_ptr<SimulatedEngine>> create(const Iteration& iteration, const Machine& machine,
                                                         const Strategy& strategy, const Policy& policy);
  ~SimulatedEngine();
  SimulatedEngine(const SimulatedEngine&) = delete;
  SimulatedEngine& operator=(const SimulatedEngine&) = delete;

  // Called with the time of the strategy's first whole pass if that is clearly faster than none. A long iteration takes
  // long to settle, and the program waits for a plan meanwhile.
  using NoteFaster = std::function<void(Nanoseconds pass)>;
  // The time of one settled iteration. Stops early with kBusy when the passes show that it takes longer than
  // `enough`, which may shrink meanwhile, or when `stop` is set. Errors: kOutOfMemory if a step does not fit,
  // and the engine's.
  Result<Nanoseconds> play(const std::atomic<Nanoseconds>& enough, const std::atomic<bool>& stop,
                           const NoteFaster& faster = {});
  int passes() const { return passes_; }  // started so far
  // The time of the pass without a strategy; slightly too short, because it begins with an empty device. 0 if
  // there was no such pass or it has not ended.
  Nanoseconds alone() const { return alone_; }

 private:
  SimulatedEngine(const Iteration& iteration, const Machine& machine, const Strategy& strategy);

  Status restore_residency(const std::atomic<bool>& stop);
  void start_plan();
  void begin_pass(int pass);
  bool is_hopeless() const;
  Status play_step(std::uint32_t step);
  Status allocate(std::uint32_t run, StreamId stream);
  Status queue(const IterationStep& step);
  Status await_others(const IterationStep& step);
  Status await(std::uint64_t number, StreamId by);
  Status set_recompute(std::uint32_t run);  // if the run can be recomputed, from its current contents
  Status await_oldest();
  void look();

  const Iteration& learned_;
  const Strategy& strategy_;
  const Iteration iteration_;                            // including small runs
  const std::vector<std::vector<std::uint32_t>> frees_;  // runs freed after each step
  VirtualClock clock_;
  NoHostPages host_pages_;
  SimDriver driver_;
  SimPump pump_;
  std::unique_ptr<SimLayers> layers_;
  std::vector<StreamId> streams_;  // by stream number of the steps
  std::vector<Run*> held_;         // by run of the iteration; null while not allocated
  std::vector<bool> pinned_;       // by run of the iteration
  std::vector<Run*> operands_;
  std::vector<DeviceRange> ranges_;
  // The latest uses of a run as step numbers, from 1; 0 = none.
  struct LastUses {
    std::array<std::uint64_t, kMostStreams> any{};  // by stream
    std::uint64_t written = 0;
    std::uint32_t written_on = 0;
  };
  std::vector<LastUses> last_uses_;  // by run of the iteration
  std::vector<EventId> events_;      // ring of events, one after each of the latest steps
  bool has_active_plan_ = false;
  std::uint64_t queued_ = 0, awaited_ = 0;
  int passes_ = 0;
  Nanoseconds enough_{};      // limit as of the latest step
  int longer_ = 0;            // consecutive passes above the limit
  int pass_ = 0;              // the pass that the device is executing
  Nanoseconds pass_began_{};  // its begin
  Nanoseconds last_pass_{};   // duration of the previous one
  Nanoseconds alone_{};       // duration of the one without a strategy
  Nanoseconds clearly_{};     // duration of the strategy's first pass if that is clearly faster; 0 once it is noted
  Nanoseconds unsettled_{};   // end of the passes excluded from the mean
  std::optional<Nanoseconds> settled_;
};

struct Simulated {
  Result<Nanoseconds> time;  // of SimulatedEngine::play
  Nanoseconds alone;         // of SimulatedEngine::alone
  std::uint64_t uses = 0;    // of all passes
};
// Runs on a temporary SimulatedEngine.
Simulated simulate_plan(const Iteration& iteration, const Machine& machine, const Strategy& strategy,
                        const Policy& policy, const std::atomic<Nanoseconds>& enough, const std::atomic<bool>& stop,
                        const SimulatedEngine::NoteFaster& faster = {});

}  // namespace tessera
