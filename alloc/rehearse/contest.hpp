// The strategies for one iteration beside each other: what each takes, and which may be the best.
//
// Each is played on a stage of its own (stage.hpp), and is given up when it is behind the best so
// far; the likeliest, by which the others are measured, is played to its end. Nothing is told
// before the likeliest has been played, or one that is faster than the policy without any: others
// may be worse than what the program does meanwhile.
//
// Thread safety: play() and goes_on() from any thread, best() when all plays are over.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/mutex.hpp"
#include "residency/planner.hpp"

namespace tessera {

class Contest {
 public:
  // Of all passes of all strategies.
  static constexpr std::uint64_t kMostUses = std::uint64_t{1} << 21;
  // What is told may be off by this part, so who is behind by less is in the answer, too; so many
  // at most.
  static constexpr std::uint64_t kDoubt = 32;
  static constexpr std::size_t kMostTold = 4;

  // Called with who is ahead of all others that were played, by one thread at a time.
  using Tell = std::function<void(const Told& best)>;

  // `stop` breaks off what is being played. REQUIRES: all of them outlive it; the machine's rates
  // are not zero.
  Contest(const Iteration& iteration, const Machine& machine, const Policy& policy,
          const std::atomic<bool>& stop, Tell tell);

  // `place`: in the order in which the policy told them; 0 is the likeliest.
  void play(std::size_t place, Strategy strategy);
  // False: as much has been played as may be, or it was stopped.
  bool goes_on() const { return !stop_.load() && uses_.load() <= kMostUses; }
  // The shortest first; of those that take as long to the nanosecond, which is the same moves, the
  // likelier. None where nothing could be played.
  std::vector<Told> best() EXCLUDES_LOCK(mutex_);

 private:
  struct Entry {
    std::size_t place = 0;
    Told told;
  };
  static bool is_before(const Entry& a, const Entry& b) {
    return a.told.time != b.told.time ? a.told.time < b.told.time : a.place < b.place;
  }

  const Iteration& iteration_;
  const Machine& machine_;
  const Policy& policy_;
  const std::atomic<bool>& stop_;
  const Tell tell_;
  std::atomic<std::uint64_t> uses_{0};
  const std::atomic<Nanoseconds> never_{Nanoseconds(~std::uint64_t{0})};
  std::atomic<Nanoseconds> enough_{
      Nanoseconds(~std::uint64_t{0})};  // who takes longer is not in the answer
  Mutex mutex_{LockRank::kRehearsal};
  std::vector<Entry> entries_ GUARDED_BY(mutex_);
  bool tells_ GUARDED_BY(mutex_) = false;
  Nanoseconds told_ GUARDED_BY(mutex_){~std::uint64_t{0}};  // of the best when it was told
};

}  // namespace tessera
