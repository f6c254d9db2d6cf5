#include "sim/plan_search.hpp"

#include <algorithm>
#include <utility>

#include "sim/simulated_engine.hpp"

namespace tessera {
namespace {

// Enough draws to find a new candidate unless there are hardly any.
constexpr int kMostDraws = 16;
constexpr std::uint64_t kOtherOrderOneIn = 8;

Nanoseconds near_enough_to(Nanoseconds computing) { return computing + computing / PlanSearch::kNearEnough; }

}  // namespace

PlanSearch::PlanSearch(const Iteration& iteration, const Machine& machine, const Policy& policy,
                       const std::atomic<bool>& stop, Report tell, std::vector<Candidate> from)
    : iteration_(iteration),
      machine_(machine),
      policy_(policy),
      stop_(stop),
      report_(std::move(tell)),
      from_(std::move(from)),
      near_enough_(near_enough_to(computing_time(iteration))),
      neighbours_(iteration, machine),
      kept_(from_),
      reported_(fastest().time) {
  for (const Candidate& each : kept_) seen_.add(each.strategy);
  enough_.store(slowest_kept());
}

bool PlanSearch::goes_on() const {
  MutexLock lock(mutex_);
  const bool is_over = fruitless_ >= kMostFruitless && is_last_round();
  return !stop_.load() && uses_.load() <= kMostUses && !is_over && fastest().time > near_enough_;
}

void PlanSearch::play() {
  const std::optional<Strategy> strategy = draw();
  if (!strategy) return;
  const Simulated played = simulate_plan(iteration_, machine_, *strategy, policy_, enough_, stop_);
  uses_ += played.uses;
  if (played.time.is_ok()) keep({*strategy, played.time.value()});
}

std::optional<Strategy> PlanSearch::draw() {
  MutexLock lock(mutex_);
  if (fruitless_ >= kMostFruitless && !is_last_round()) begin_anew();
  ++fruitless_;
  for (int draws = 0; draws < kMostDraws; ++draws) {
    Strategy strategy = kept_[neighbours_.below(kept_.size())].strategy;
    strategy.plan = neighbours_.draw(std::move(strategy.plan));
    if (neighbours_.below(kOtherOrderOneIn) == 0) strategy.strict = !strategy.strict;
    if (seen_.add(strategy)) return strategy;
  }
  return std::nullopt;
}

// Simulations of the previous round may still finish later.
void PlanSearch::begin_anew() {
  found_.push_back(fastest());
  kept_ = from_;
  fruitless_ = 0;
  enough_.store(slowest_kept());
}

void PlanSearch::keep(Candidate candidate) {
  MutexLock lock(mutex_);
  const Nanoseconds best = fastest().time;
  const auto slowest = std::ranges::max_element(kept_, {}, &Candidate::time);
  if (candidate.time >= slowest->time || std::ranges::count(kept_, candidate.time, &Candidate::time) != 0) return;
  if (candidate.time < best) fruitless_ = 0;
  if (kept_.size() < kKept) {
    kept_.push_back(std::move(candidate));
  } else {
    *slowest = std::move(candidate);
  }
  enough_.store(slowest_kept());
  const Nanoseconds now = fastest().time;
  if (now + now / kWorthReporting >= reported_) return;
  reported_ = now;
  report_(best_few());
}

std::vector<Candidate> PlanSearch::best() const {
  MutexLock lock(mutex_);
  return best_few();
}

std::vector<Candidate> PlanSearch::best_few() const {
  std::vector<Candidate> best = kept_;
  for (const Candidate& each : found_) {
    if (std::ranges::count(best, each.time, &Candidate::time) == 0) best.push_back(each);
  }
  std::ranges::sort(best, {}, &Candidate::time);
  best.resize(std::min(best.size(), CandidateRace::kMostAnswers));
  const Candidate& origin = from_.front();
  if (best.back().time < origin.time) {
    if (best.size() == CandidateRace::kMostAnswers) best.pop_back();
    best.push_back(origin);
  }
  return best;
}

const Candidate& PlanSearch::fastest() const { return *std::ranges::min_element(kept_, {}, &Candidate::time); }

Nanoseconds PlanSearch::slowest_kept() const { return std::ranges::max_element(kept_, {}, &Candidate::time)->time; }

}  // namespace tessera
