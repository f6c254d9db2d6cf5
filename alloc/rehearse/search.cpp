#include "rehearse/search.hpp"

#include <algorithm>
#include <utility>

#include "rehearse/stage.hpp"

namespace tessera {
namespace {

// Enough draws to find a new candidate unless there are hardly any.
constexpr int kMostDraws = 16;
constexpr std::uint64_t kOtherOrderOneIn = 8;

Nanoseconds near_enough_to(Nanoseconds computing) { return computing + computing / Search::kNearEnough; }

}  // namespace

Search::Search(const Iteration& iteration, const Machine& machine, const Policy& policy,
               const std::atomic<bool>& stop, Tell tell, std::vector<Told> from)
    : iteration_(iteration),
      machine_(machine),
      policy_(policy),
      stop_(stop),
      tell_(std::move(tell)),
      from_(std::move(from)),
      near_enough_(near_enough_to(computing_time(iteration))),
      neighbours_(iteration, machine),
      kept_(from_),
      told_(fastest().time) {
  for (const Told& each : kept_) heard_.add(each.strategy);
  enough_.store(slowest_kept());
}

bool Search::goes_on() const {
  MutexLock lock(mutex_);
  const bool is_over = fruitless_ >= kMostFruitless && is_last_round();
  return !stop_.load() && uses_.load() <= kMostUses && !is_over && fastest().time > near_enough_;
}

void Search::play() {
  const std::optional<Strategy> strategy = draw();
  if (!strategy) return;
  const Played played = play_on_stage(iteration_, machine_, *strategy, policy_, enough_, stop_);
  uses_ += played.uses;
  if (played.time.is_ok()) keep({*strategy, played.time.value()});
}

std::optional<Strategy> Search::draw() {
  MutexLock lock(mutex_);
  if (fruitless_ >= kMostFruitless && !is_last_round()) begin_anew();
  ++fruitless_;
  for (int draws = 0; draws < kMostDraws; ++draws) {
    Strategy strategy = kept_[neighbours_.below(kept_.size())].strategy;
    strategy.plan = neighbours_.draw(std::move(strategy.plan));
    if (neighbours_.below(kOtherOrderOneIn) == 0) strategy.strict = !strategy.strict;
    if (heard_.add(strategy)) return strategy;
  }
  return std::nullopt;
}

// Simulations of the previous round may still finish later.
void Search::begin_anew() {
  found_.push_back(fastest());
  kept_ = from_;
  fruitless_ = 0;
  enough_.store(slowest_kept());
}

void Search::keep(Told told) {
  MutexLock lock(mutex_);
  const Nanoseconds best = fastest().time;
  const auto slowest = std::ranges::max_element(kept_, {}, &Told::time);
  if (told.time >= slowest->time || std::ranges::count(kept_, told.time, &Told::time) != 0) return;
  if (told.time < best) fruitless_ = 0;
  if (kept_.size() < kKept) {
    kept_.push_back(std::move(told));
  } else {
    *slowest = std::move(told);
  }
  enough_.store(slowest_kept());
  const Nanoseconds now = fastest().time;
  if (now + now / kWorthTelling >= told_) return;
  told_ = now;
  tell_(best_few());
}

std::vector<Told> Search::best() const {
  MutexLock lock(mutex_);
  return best_few();
}

std::vector<Told> Search::best_few() const {
  std::vector<Told> best = kept_;
  for (const Told& each : found_) {
    if (std::ranges::count(best, each.time, &Told::time) == 0) best.push_back(each);
  }
  std::ranges::sort(best, {}, &Told::time);
  best.resize(std::min(best.size(), Contest::kMostTold));
  const Told& origin = from_.front();
  if (best.back().time < origin.time) {
    if (best.size() == Contest::kMostTold) best.pop_back();
    best.push_back(origin);
  }
  return best;
}

const Told& Search::fastest() const { return *std::ranges::min_element(kept_, {}, &Told::time); }

Nanoseconds Search::slowest_kept() const { return std::ranges::max_element(kept_, {}, &Told::time)->time; }

}  // namespace tessera
