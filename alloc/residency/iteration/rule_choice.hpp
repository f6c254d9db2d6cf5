// Which rule decides on evictions while no plan is active: the one that would have lost the least time so far.
//
// No rule suits every program. Recency needs reuse at even distances, recency of use alone needs a working set that
// changes slowly, and a scan in changing order suits neither. So each rule of the policy runs in a shadow: it manages
// an imagined device of the same size, through the launches that the program really makes, and a clock says when each
// launch would have ended, given the link's rates and the time that launches like it take. The rule with the least
// waiting time decides. Waiting counts less the longer it is ago, so a program that changes is followed.
//
// Sources: shadow evaluation of several rules on the requests themselves, ARC (Megiddo and Modha, FAST 2003) and LeCaR
// (Vietri et al., HotStorage 2018); sampling of what is shadowed, SHARDS (Waldspurger et al., FAST 2015).
//
// The rules are those of Policy::rules(); they see what a policy sees of the engine's runs. A shadow knows of runs only
// by launches: one that no launch has used yet does not fill its device.
//
// Thread safety: none; the engine's lock.
//
// Bounds: at most kMostRuns runs are shadowed. With more, a sample is, chosen by name, on a device and links smaller by
// the same factor.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/epoch.hpp"
#include "planning/offload_interval.hpp"
#include "policy/policy.hpp"
#include "residency/iteration/launch_log.hpp"

namespace tessera {

class RuleChoice {
 public:
  static constexpr std::size_t kMostRuns = 512;

  // None, or one: there is nothing to choose.
  void set_rules(std::vector<const Policy*> rules);
  bool is_idle() const { return shadows_.size() < 2; }
  // Only the device's size and the host link's rates matter. Until it is known, nothing is evaluated.
  void set_machine(const Machine& machine);
  bool knows_machine() const { return static_cast<bool>(machine_.device); }

  // The uses of launches that will be noted, in order: some tell when blocks were freed before.
  void expect(std::span<const LaunchLog::Use> uses);
  // A launch of the program.
  struct Launch {
    Epoch epoch{};
    std::uint64_t number = 0;  // as RunUses::next counts launches
    Nanoseconds duration{};    // 0 = unknown
  };
  // REQUIRES: distinct runs.
  void note(const Launch& launch, std::span<const LaunchLog::Use> uses);
  // The run is about to be removed.
  void forget(const Run& run);
  // Launches follow that are not noted.
  void clear();

  // The rule that decides; null if there is nothing to choose.
  const Policy* best() const { return is_idle() ? nullptr : shadows_[best_].rule; }

 private:
  using Time = double;  // nanoseconds

  static constexpr std::size_t kAhead = 256;     // launches that a program has queued at most
  static constexpr std::uint64_t kMargin = 32;   // a rule takes over if it waits less by 1 / kMargin,
  static constexpr std::uint64_t kEnough = 64;   // once the other has waited for the copy of 1 / kEnough of the device
  static constexpr std::uint64_t kHalfLife = 4;  // in copies of the whole device

  // A run as it would be under one rule.
  struct Place {
    Bytes there;    // on the device
    Bytes copied;   // of all its bytes, the last ones, with a valid copy below
    Time busy = 0;  // end of its last use
  };
  struct ShadowRun {
    const Run* run = nullptr;
    Bytes bytes;
    Epoch used{};
    std::uint64_t gap = 0;       // as RunPicture
    std::uint64_t named = 0;     // the last launch that used it, by number
    std::vector<Epoch> frees{};  // epochs in which its block was freed, each before a fresh use that is to come
  };
  struct Shadow {
    const Policy* rule = nullptr;
    std::vector<Place> places{};  // by shadowed run
    Bytes used{};
    Time host = 0, device = 0, in = 0, out = 0;  // until when the program and each queue are busy
    Time waited = 0;                             // decayed
    std::array<Time, kAhead> ends{};             // of the last launches, a ring
  };

  double share() const { return 1.0 / static_cast<double>(std::uint64_t{1} << sampled_); }
  Bytes capacity() const { return Bytes(machine_.device.value() >> sampled_); }
  Time copy_time(Bytes bytes, double rate) const;
  bool is_sampled(const Run& run) const;
  std::size_t add(const Run& run);
  void remove(std::size_t index);
  void sample_fewer();
  void play(Shadow& shadow, const Launch& launch, std::span<const LaunchLog::Use> uses);
  void make_room(Shadow& shadow, Bytes need, const Launch& launch);
  bool is_dead(const ShadowRun& run, Epoch epoch) const;
  void evict(Shadow& shadow, std::size_t index, Bytes bytes, bool dead);
  void choose();

  Machine machine_;
  std::vector<Shadow> shadows_;  // in the order of preference
  std::size_t best_ = 0;
  std::vector<ShadowRun> runs_;
  std::unordered_map<const Run*, std::size_t> index_of_;
  unsigned sampled_ = 0;              // one run in 2^sampled_
  std::vector<std::size_t> named_;    // of the launch being noted: its runs, ...
  std::vector<RunPicture> pictures_;  // buffer
  std::size_t launches_ = 0;
};

}  // namespace tessera
