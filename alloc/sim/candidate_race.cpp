#include "sim/candidate_race.hpp"

#include <algorithm>
#include <utility>

#include "sim/simulated_engine.hpp"

namespace tessera {

CandidateRace::CandidateRace(const Iteration& iteration, const Machine& machine, const Policy& policy,
                             const std::atomic<bool>& stop, Report tell)
    : iteration_(iteration), machine_(machine), policy_(policy), stop_(stop), report_(std::move(tell)) {}

void CandidateRace::play(std::size_t place, Strategy strategy) {
  const bool likeliest = place == 0;
  const auto [time, alone, uses] = simulate_plan(iteration_, machine_, strategy, policy_, likeliest ? never_ : enough_,
                                                 stop_, [&](Nanoseconds pass) { report_early(strategy, pass); });
  uses_ += uses;
  MutexLock lock(mutex_);
  if (likeliest) reports_ = true;
  if (time.is_ok()) {
    if (time.value() < alone) reports_ = true;
    enough_ = std::min(enough_.load(), time.value() + time.value() / kDoubt);
    entries_.push_back({place, {std::move(strategy), time.value()}});
  }
  if (!reports_ || entries_.empty()) return;
  const Entry& best = *std::ranges::min_element(entries_, is_before);
  if (best.candidate.time >= reported_) return;
  reported_ = best.candidate.time;
  report_(best.candidate);
}

void CandidateRace::report_early(const Strategy& strategy, Nanoseconds pass) {
  MutexLock lock(mutex_);
  if (!entries_.empty() || std::exchange(reported_early_, true)) return;
  report_({strategy, pass});
}

std::vector<Candidate> CandidateRace::best() {
  MutexLock lock(mutex_);
  std::ranges::sort(entries_, is_before);
  std::vector<Candidate> candidates;
  for (Entry& entry : entries_) {
    const bool alike = !candidates.empty() && candidates.back().time == entry.candidate.time;
    if (alike || entry.candidate.time > enough_.load() || candidates.size() == kMostAnswers) continue;
    candidates.push_back(std::move(entry.candidate));
  }
  return candidates;
}

}  // namespace tessera
