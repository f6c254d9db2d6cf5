#include "rehearse/contest.hpp"

#include <algorithm>
#include <utility>

#include "rehearse/stage.hpp"

namespace tessera {

Contest::Contest(const Iteration& iteration, const Machine& machine, const Policy& policy,
                 const std::atomic<bool>& stop, Tell tell)
    : iteration_(iteration),
      machine_(machine),
      policy_(policy),
      stop_(stop),
      tell_(std::move(tell)) {}

void Contest::play(std::size_t place, Strategy strategy) {
  const bool likeliest = place == 0;
  const auto [time, alone, uses] =
      play_on_stage(iteration_, machine_, strategy, policy_, likeliest ? never_ : enough_, stop_);
  uses_ += uses;
  MutexLock lock(mutex_);
  if (likeliest) tells_ = true;
  if (time.is_ok()) {
    if (time.value() < alone) tells_ = true;
    enough_ = std::min(enough_.load(), time.value() + time.value() / kDoubt);
    entries_.push_back({place, {std::move(strategy), time.value()}});
  }
  if (!tells_ || entries_.empty()) return;
  const Entry& best = *std::ranges::min_element(entries_, is_before);
  if (best.told.time >= told_) return;
  told_ = best.told.time;
  tell_(best.told);
}

std::vector<Told> Contest::best() {
  MutexLock lock(mutex_);
  std::ranges::sort(entries_, is_before);
  std::vector<Told> told;
  for (Entry& entry : entries_) {
    const bool alike = !told.empty() && told.back().time == entry.told.time;
    if (alike || entry.told.time > enough_.load() || told.size() == kMostTold) continue;
    told.push_back(std::move(entry.told));
  }
  return told;
}

}  // namespace tessera
