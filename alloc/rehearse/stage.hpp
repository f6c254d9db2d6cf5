// The allocator itself, on a machine in virtual time, playing one learned iteration of a program.
//
// Everything from the blocks down is the production code, so what a strategy takes here is what it takes
// there, as far as the machine's rates and the durations of the steps are known. The program's side is
// the iteration: it announces and queues step after step, ahead of its device, allocates what is used
// fresh and frees what nobody reads again. Steps of several streams run at once, but none before those whose bytes it
// reads or writes: a program that is right waits for as much.
//
// Thread safety: one thread; several stages beside each other share nothing.
#pragma once

#include <array>
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
  // The first is the rest of the iteration that the program is in (Iteration::stands_at), with all that lives where it
  // is there. Where that is not known the policy decides without a strategy in the first: what it leaves behind
  // is what the strategy finds. The next ones come to rest: a device that still has room makes the first of
  // them up to a tenth faster than all that follow, or slower. Two alike in a row, to a part of kAlike, are at
  // rest; some go to and fro for ever, and then the mean of the later half counts.
  static constexpr int kAlone = 1, kMostPasses = 12, kUnsettled = kMostPasses / 2;
  static constexpr std::uint64_t kAlike = 1000;
  // A pass that is longer than `enough` by this part of it does not come to rest below it, nor do so many
  // longer ones in a row.
  static constexpr std::uint64_t kHopeless = 4;
  static constexpr int kMostLonger = 3;

  // REQUIRES: all but the machine outlive it, the strategy's policy too; machine's rates are not zero.
  // Errors: as Residency::create.
  static Result<std::unique_ptr<Stage>> create(const Iteration& iteration, const Machine& machine,
                                               const Strategy& strategy, const Policy& policy);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // The time of one iteration at rest. Stops early, with kBusy, when by all that its passes show it takes
  // longer than `enough`, which may shrink meanwhile, or when `stop` is set.
  // Errors: kOutOfMemory where a step does not fit, and the engine's.
  Result<Nanoseconds> play(const std::atomic<Nanoseconds>& enough, const std::atomic<bool>& stop);
  int passes() const { return passes_; }  // queued so far
  // What the pass without a strategy took; that the device is empty when it begins makes it rather too short. 0 where
  // there was none, and while it has not ended.
  Nanoseconds alone() const { return alone_; }

 private:
  Stage(const Iteration& iteration, const Machine& machine, const Strategy& strategy);

  Status stand(const std::atomic<bool>& stop);
  void lead();
  void begin_pass(int pass);
  bool is_hopeless() const;
  Status play_step(std::uint32_t step);
  Status allocate(std::uint32_t run, StreamId stream);
  Status queue(const IterationStep& step);
  Status await_others(const IterationStep& step);
  Status await(std::uint64_t number, StreamId by);
  Status set_remake(std::uint32_t run);  // if it can be: of what it holds now
  Status await_oldest();
  void look();

  const Iteration& learned_;
  const Strategy& strategy_;
  const Iteration iteration_;     // with small runs
  const std::vector<std::vector<std::uint32_t>> frees_;  // by step, behind it: runs
  VirtualClock clock_;
  NoHostPages host_pages_;
  SimDriver driver_;
  EventLog log_;
  DeviceTier device_;
  HostTier host_;
  std::unique_ptr<FileTier> file_;
  std::unique_ptr<PeerTier> peer_;  // of a second device, or none
  std::unique_ptr<Residency> residency_;
  std::unique_ptr<PageManager> pages_;
  std::unique_ptr<BlockCache> blocks_;
  std::vector<StreamId> streams_;  // by that of steps
  std::vector<Run*> held_;    // by run of the iteration; null while it is not allocated
  std::vector<bool> pinned_;  // likewise
  std::vector<Run*> operands_;
  std::vector<DeviceRange> ranges_;
  // The newest uses of a run: numbers of steps, from 1 on; 0 = none.
  struct LastUses {
    std::array<std::uint64_t, kMostStreams> any{};  // by stream
    std::uint64_t written = 0;
    std::uint32_t written_on = 0;
  };
  std::vector<LastUses> last_uses_;  // by run of the iteration
  std::vector<EventId> events_;  // a ring: one behind each of the newest steps
  bool leads_ = false;
  std::uint64_t queued_ = 0, awaited_ = 0;
  Nanoseconds next_look_{};
  int passes_ = 0;
  Nanoseconds enough_{};       // at the last step
  int longer_ = 0;             // passes in a row that took longer
  int pass_ = 0;               // that the device is in,
  Nanoseconds pass_began_{};   // since when,
  Nanoseconds last_pass_{};    // and how long the one before took,
  Nanoseconds alone_{};        // and the first, without a strategy
  Nanoseconds unsettled_{};    // when the last of those ended that do not count
  std::optional<Nanoseconds> told_;
};

struct Played {
  Result<Nanoseconds> time;  // as Stage::play
  Nanoseconds alone;         // as Stage::alone
  std::uint64_t uses = 0;    // of all passes
};
// On a stage of its own, which is gone behind it.
Played play_on_stage(const Iteration& iteration, const Machine& machine, const Strategy& strategy,
                     const Policy& policy, const std::atomic<Nanoseconds>& enough,
                     const std::atomic<bool>& stop);

}  // namespace tessera
