// The allocator itself, on a machine in virtual time, playing one learned iteration of a program.
//
// Everything from the blocks down is the production code, so what a strategy takes here is what it takes
// there, as far as the machine's rates and the durations of the steps are known. The program's side is
// the iteration: it announces and queues step after step, ahead of its device, allocates what is used
// fresh and frees what nobody reads again.
//
// Thread safety: one thread; several stages beside each other share nothing.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "base/virtual_clock.hpp"
#include "block/block_cache.hpp"
#include "driver/sim_driver.hpp"
#include "observe/event_log.hpp"
#include "residency/residency.hpp"
#include "tier/host_pages.hpp"

namespace tessera {

class Stage {
 public:
  // In the first the policy decides without a strategy, as it does in a program: what it leaves behind
  // is what the strategy finds. The next ones come to rest: a device that still has room makes the first of
  // them up to a tenth faster than all that follow. Of the last the mean counts: what one leaves the next
  // may have to pay for.
  static constexpr int kPasses = 6, kAlone = 1, kCounted = 2;
  // A pass that is longer than `enough` by this part of it is not followed by two that are short enough.
  static constexpr std::uint64_t kHopeless = 4;

  // REQUIRES: all but the machine outlive it, the strategy's policy too; machine's rates are not zero.
  // Errors: as Residency::create.
  static Result<std::unique_ptr<Stage>> create(const Iteration& iteration, const Machine& machine,
                                               const Strategy& strategy, const Policy& policy);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // The time of one iteration once the device has been filled. Stops early, with kBusy, when it takes longer
  // than `enough`, for certain or by all that its passes show, or when `stop` is set.
  // Errors: kOutOfMemory where a step does not fit, and the engine's.
  Result<Nanoseconds> play(Nanoseconds enough, const std::atomic<bool>& stop);

 private:
  Stage(const Iteration& iteration, const Machine& machine, const Strategy& strategy);

  bool is_beaten(Nanoseconds enough) const;
  Status play_step(std::uint32_t step);
  Status allocate(std::uint32_t run);
  Status queue(const IterationStep& step);
  Status set_remake(std::uint32_t run);  // if it can be: of what it holds now
  Status await_oldest();
  Status await_all();
  void look();

  const Iteration& learned_;
  const Strategy& strategy_;
  const Iteration iteration_;     // with small runs
  const std::vector<bool> dies_;  // by use: nobody reads the run again before it is allocated anew
  VirtualClock clock_;
  NoHostPages host_pages_;
  SimDriver driver_;
  EventLog log_;
  DeviceTier device_;
  HostTier host_;
  std::unique_ptr<FileTier> file_;
  std::unique_ptr<Residency> residency_;
  std::unique_ptr<PageManager> pages_;
  std::unique_ptr<BlockCache> blocks_;
  StreamId stream_;
  std::vector<Run*> held_;    // by run of the iteration; null while it is not allocated
  std::vector<bool> pinned_;  // likewise
  std::vector<Run*> operands_;
  std::vector<DeviceRange> ranges_;
  std::vector<EventId> events_;  // a ring: one behind each of the newest steps
  bool leads_ = false;
  std::uint64_t queued_ = 0, awaited_ = 0;
  Nanoseconds next_look_{};
  std::optional<Nanoseconds> pass_began_;   // when the device came to the pass it is in
  std::optional<Nanoseconds> count_began_;  // when the device came to the passes that count
};

}  // namespace tessera
