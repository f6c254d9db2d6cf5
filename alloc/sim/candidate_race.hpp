// Compares the candidate strategies for one iteration: the simulated time of each, and which may be the best.
//
// Each candidate is simulated on an engine of its own (simulated_engine.hpp) and aborted when it is behind the best so
// far. The most likely one, which is the reference for the others, is simulated to the end. No result is reported
// before the most likely candidate has been simulated, or a candidate that is faster than the policy without
// a plan: any other may be worse than what the program is currently doing. As long as no candidate was simulated to the
// end, one that is clearly faster than that after its first pass is reported, with the time of that pass: the program
// follows it while the passes settle, and the next report replaces it.
//
// Thread safety: play() and goes_on() from any thread; best() when all simulations are over.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/mutex.hpp"
#include "residency/iteration/planner.hpp"

namespace tessera {

class CandidateRace {
 public:
  // Limit on the uses simulated in all passes of all candidates.
  static constexpr std::uint64_t kMostUses = std::uint64_t{1} << 21;
  // A predicted time may be off by a fraction 1 / kDoubt, so candidates that are behind the best by less are
  // returned too, at most kMostAnswers.
  static constexpr std::uint64_t kDoubt = 32;
  static constexpr std::size_t kMostAnswers = 4;

  // Called with each new best candidate, by one thread at a time.
  using Report = std::function<void(const Candidate& best)>;

  // `stop` aborts running simulations. REQUIRES: all arguments outlive this; the machine's rates are not zero.
  CandidateRace(const Iteration& iteration, const Machine& machine, const Policy& policy, const std::atomic<bool>& stop,
                Report tell);

  // `place`: the position in the policy's order; 0 is the most likely candidate.
  void play(std::size_t place, Strategy strategy);
  // Returns false when the limit on simulated uses is reached or `stop` is set.
  bool goes_on() const { return !stop_.load() && uses_.load() <= kMostUses; }
  // The candidates by predicted time. Of those with equal times to the nanosecond, which make the same moves,
  // only the more likely one. Empty if no candidate could be simulated.
  std::vector<Candidate> best() EXCLUDES_LOCK(mutex_);

 private:
  void report_early(const Strategy& strategy, Nanoseconds pass) EXCLUDES_LOCK(mutex_);

  struct Entry {
    std::size_t place = 0;
    Candidate candidate;
  };
  static bool is_before(const Entry& a, const Entry& b) {
    return a.candidate.time != b.candidate.time ? a.candidate.time < b.candidate.time : a.place < b.place;
  }

  const Iteration& iteration_;
  const Machine& machine_;
  const Policy& policy_;
  const std::atomic<bool>& stop_;
  const Report report_;
  std::atomic<std::uint64_t> uses_{0};
  const std::atomic<Nanoseconds> never_{Nanoseconds(~std::uint64_t{0})};
  std::atomic<Nanoseconds> enough_{Nanoseconds(~std::uint64_t{0})};  // slower candidates are not returned
  Mutex mutex_{LockRank::kSimulation};
  std::vector<Entry> entries_ GUARDED_BY(mutex_);
  bool reports_ GUARDED_BY(mutex_) = false;
  bool reported_early_ GUARDED_BY(mutex_) = false;
  Nanoseconds reported_ GUARDED_BY(mutex_){~std::uint64_t{0}};  // time of the best when last reported
};

}  // namespace tessera
