// Looks for a faster strategy near those that are known to be good.
//
// Plans made by a rule use all runs alike, and are as good as the model in the rule's head; what is left over is
// small and particular to the iteration: one run less, a part more, a way back some steps sooner. So a plan of the few best is
// changed a little (learn/plan_neighbours.hpp), played, and kept if it is faster than the slowest of them, again and
// again. Plans that take as long to the nanosecond do the same, so one of them is kept: others are to be changed, and
// told, too. When many in a row were not faster than the best it begins anew with what it began with, kRounds times in
// all: where it comes to is a matter of luck. It ends sooner when nothing is left to win.
//
// Local search with the engine as the judge, and random restarts; SwapAdvisor's search (papers.md §3.4) keeps a few as
// well, and mixes them.
//
// Thread safety: play() and goes_on() from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/mutex.hpp"
#include "learn/plan_neighbours.hpp"
#include "rehearse/contest.hpp"
#include "rehearse/heard.hpp"

namespace tessera {

class Search {
 public:
  // Of all passes of all strategies.
  static constexpr std::uint64_t kMostUses = std::uint64_t{1} << 21;
  // So many plays in a row that are not faster than the round's best end a round.
  static constexpr std::uint64_t kMostFruitless = 128;
  static constexpr std::size_t kRounds = 3;
  static constexpr std::size_t kKept = 6;
  // What is nearer to the time of computing alone than this part of it is as good as it gets.
  static constexpr std::uint64_t kNearEnough = 256;
  // An answer is told on the way when its best is faster by this part than that of the one before.
  static constexpr std::uint64_t kWorthTelling = 64;

  // Called with the best few, by one thread at a time.
  using Tell = std::function<void(std::vector<Told> best)>;

  // REQUIRES: `from`, the best first, is not empty; all but it outlive the search, its strategies' policies too; the
  // machine's rates are not zero.
  Search(const Iteration& iteration, const Machine& machine, const Policy& policy,
         const std::atomic<bool>& stop, Tell tell, std::vector<Told> from);

  bool goes_on() const EXCLUDES_LOCK(mutex_);
  // One more.
  void play() EXCLUDES_LOCK(mutex_);
  // The shortest first, Contest::kMostTold at most. What it began with ends them: what is found fits the stage
  // closely, and the program may show that it takes longer there.
  std::vector<Told> best() const EXCLUDES_LOCK(mutex_);

 private:
  std::optional<Strategy> draw() EXCLUDES_LOCK(mutex_);
  bool is_last_round() const REQUIRES_LOCK(mutex_) { return found_.size() + 1 >= kRounds; }
  void begin_anew() REQUIRES_LOCK(mutex_);
  void keep(Told told) EXCLUDES_LOCK(mutex_);
  std::vector<Told> best_few() const REQUIRES_LOCK(mutex_);
  const Told& fastest() const REQUIRES_LOCK(mutex_);  // of the round
  Nanoseconds slowest_kept() const REQUIRES_LOCK(mutex_);

  const Iteration& iteration_;
  const Machine& machine_;
  const Policy& policy_;
  const std::atomic<bool>& stop_;
  const Tell tell_;
  const std::vector<Told> from_;
  const Nanoseconds near_enough_;
  std::atomic<std::uint64_t> uses_{0};
  std::atomic<Nanoseconds> enough_{};  // who takes longer is not kept
  mutable Mutex mutex_{LockRank::kRehearsal};
  PlanNeighbours neighbours_ GUARDED_BY(mutex_);
  Heard heard_ GUARDED_BY(mutex_);
  std::vector<Told> kept_ GUARDED_BY(mutex_);
  std::vector<Told> found_ GUARDED_BY(mutex_);  // the best of each round that is over
  std::uint64_t fruitless_ GUARDED_BY(mutex_) = 0;
  Nanoseconds told_ GUARDED_BY(mutex_);  // of the best, when it was told
};

}  // namespace tessera
