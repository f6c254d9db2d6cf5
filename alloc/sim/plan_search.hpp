// Local search for a faster strategy near the known good ones.
//
// A plan made by a rule treats all runs alike and is as good as the model behind the rule. What remains to be
// gained is small and specific to the iteration: one run less, a larger part, a fetch some steps earlier. So
// the search repeatedly takes one of the few best plans, changes it slightly (planning/plan_neighbours.hpp),
// simulates it, and keeps it if it is faster than the slowest of them. Plans with equal times to the nanosecond
// behave the same, so only one of them is kept, to leave room for different ones. After many attempts in a row
// without a new best it restarts from the initial candidates, kRounds rounds in all, because the result of a
// round depends on chance. It ends early when nothing is left to gain.
//
// Local search with random restarts, judged by the engine; SwapAdvisor's search (ASPLOS 2020) also keeps
// a population, and recombines it.
//
// Thread safety: play() and goes_on() from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/mutex.hpp"
#include "planning/plan_neighbours.hpp"
#include "sim/candidate_race.hpp"
#include "sim/seen_plans.hpp"

namespace tessera {

class PlanSearch {
 public:
  // Limit on the uses simulated in all passes of all candidates.
  static constexpr std::uint64_t kMostUses = std::uint64_t{1} << 21;
  // A round ends after this many attempts in a row without a new best.
  static constexpr std::uint64_t kMostFruitless = 128;
  static constexpr std::size_t kRounds = 3;
  static constexpr std::size_t kKept = 6;
  // A time within this fraction of the computing time alone cannot be improved noticeably.
  static constexpr std::uint64_t kNearEnough = 256;
  // An intermediate result is reported when its best is faster than the last reported one by this fraction.
  static constexpr std::uint64_t kWorthReporting = 64;

  // Called with the best few, by one thread at a time.
  using Report = std::function<void(std::vector<Candidate> best)>;

  // REQUIRES: `from` is sorted, best first, and not empty; all other arguments, and the policies of its
  // strategies, outlive the search; the machine's rates are not zero.
  PlanSearch(const Iteration& iteration, const Machine& machine, const Policy& policy, const std::atomic<bool>& stop,
             Report tell, std::vector<Candidate> from);

  bool goes_on() const EXCLUDES_LOCK(mutex_);
  // Simulates one more candidate.
  void play() EXCLUDES_LOCK(mutex_);
  // The best candidates by predicted time, at most CandidateRace::kMostAnswers. The last one is the best initial
  // candidate: found plans are tuned to the simulation, and the program may show that they take longer there.
  std::vector<Candidate> best() const EXCLUDES_LOCK(mutex_);

 private:
  std::optional<Strategy> draw() EXCLUDES_LOCK(mutex_);
  bool is_last_round() const REQUIRES_LOCK(mutex_) { return found_.size() + 1 >= kRounds; }
  void begin_anew() REQUIRES_LOCK(mutex_);
  void keep(Candidate candidate) EXCLUDES_LOCK(mutex_);
  std::vector<Candidate> best_few() const REQUIRES_LOCK(mutex_);
  const Candidate& fastest() const REQUIRES_LOCK(mutex_);  // of the current round
  Nanoseconds slowest_kept() const REQUIRES_LOCK(mutex_);

  const Iteration& iteration_;
  const Machine& machine_;
  const Policy& policy_;
  const std::atomic<bool>& stop_;
  const Report report_;
  const std::vector<Candidate> from_;
  const Nanoseconds near_enough_;
  std::atomic<std::uint64_t> uses_{0};
  std::atomic<Nanoseconds> enough_{};  // slower candidates are not kept
  mutable Mutex mutex_{LockRank::kSimulation};
  PlanNeighbours neighbours_ GUARDED_BY(mutex_);
  SeenPlans seen_ GUARDED_BY(mutex_);
  std::vector<Candidate> kept_ GUARDED_BY(mutex_);
  std::vector<Candidate> found_ GUARDED_BY(mutex_);  // the best of each completed round
  std::uint64_t fruitless_ GUARDED_BY(mutex_) = 0;
  Nanoseconds reported_ GUARDED_BY(mutex_);  // time of the best when last reported
};

}  // namespace tessera
