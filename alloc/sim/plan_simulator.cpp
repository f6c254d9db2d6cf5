#include "sim/plan_simulator.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/log.hpp"
#include "base/thread.hpp"
#include "sim/candidate_race.hpp"
#include "sim/plan_search.hpp"
#include "sim/seen_plans.hpp"
#include "sim/worker_pool.hpp"

namespace tessera {

std::size_t PlanSimulator::workers_beside(double processors) {
  return static_cast<std::size_t>(std::clamp(processors / kShare, 1.0, kMostWorkers));
}

PlanSimulator::PlanSimulator(const Policy& policy, Answer answer, std::size_t workers, double share)
    : policy_(policy), when_(answer), workers_(workers), pace_(share, stop_) {}

PlanSimulator::~PlanSimulator() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
    stop_.store(true);  // under the lock, since await_question() clears it
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void PlanSimulator::ask(const Iteration& iteration, const Machine& machine) {
  {
    MutexLock lock(mutex_);
    stop_.store(true);
    found_.clear();
    question_ = {iteration, machine};
  }
  changed_.notify_all();
  if (thread_.joinable()) return;
  const Status started = start_thread(thread_, [this] { run(); });
  if (started.is_ok()) return;
  log_line(LogLevel::kWarning, "an iteration is not simulated: no thread: {}", started.message());
  MutexLock lock(mutex_);
  question_.reset();
}

std::vector<Candidate> PlanSimulator::answer() {
  MutexLock lock(mutex_);
  while (when_ == Answer::kWaits && (question_ || thinking_)) changed_.wait(mutex_);
  return std::exchange(found_, {});
}

void PlanSimulator::run() {
  while (const std::optional<Question> question = await_question()) {
    publish(best_of(*question));
    MutexLock lock(mutex_);
    thinking_ = false;
    changed_.notify_all();
  }
}

std::optional<PlanSimulator::Question> PlanSimulator::await_question() {
  MutexLock lock(mutex_);
  while (!question_ && !ending_) changed_.wait(mutex_);
  if (ending_) return std::nullopt;
  stop_.store(false);
  thinking_ = true;
  return std::exchange(question_, std::nullopt);
}

// Drops the result if a newer request is waiting.
void PlanSimulator::publish(std::vector<Candidate> candidates) {
  MutexLock lock(mutex_);
  if (!question_) found_ = std::move(candidates);
}

std::vector<Candidate> PlanSimulator::best_of(const Question& question) {
  const bool can_play = question.machine.in_rate > 0 && question.machine.out_rate > 0;
  std::vector<Candidate> candidates = simulate_candidates(question, can_play ? workers_ : 0);
  if (!candidates.front().time || stop_.load() || !policy_.may_be_refined()) return candidates;
  publish(candidates);
  return search(question, std::move(candidates));
}

// Without workers the first candidate is the answer, without a predicted time.
std::vector<Candidate> PlanSimulator::simulate_candidates(const Question& question, std::size_t workers) {
  const Iteration& iteration = question.iteration;
  CandidateRace race(iteration, question.machine, policy_, stop_, [this](const Candidate& best) { publish({best}); });
  std::optional<Strategy> first;
  {
    SeenPlans seen;
    std::size_t places = 0;
    WorkerPool pool(workers);
    const auto play = [&](std::size_t place, Strategy strategy) {
      pool.hand([this, &race, place, strategy = std::move(strategy)]() mutable {
        const Pace::Turn turn(pace_);
        race.play(place, std::move(strategy));
      });
    };
    const auto take = [&](Strategy strategy) {
      const bool another = seen.add(strategy);
      if (!first) {
        first = std::move(strategy);
        return workers > 0 && !stop_.load();
      }
      // A single candidate is not simulated: there is nothing to compare it with. The second is simulated
      // before the first, because the program is usually running the first already and only another candidate
      // can improve on it.
      if (another) play(++places, std::move(strategy));
      if (places == 1 && another && race.goes_on()) play(0, *first);
      return race.goes_on();
    };
    // Generating strategies counts as work, as simulating them does.
    std::optional<Pace::Turn> making(std::in_place, pace_);
    policy_.strategies(iteration, question.machine, [&](Strategy strategy) {
      making.reset();
      const bool goes_on = take(std::move(strategy));
      making.emplace(pace_);
      return goes_on;
    });
  }
  std::vector<Candidate> candidates = race.best();
  if (candidates.empty()) return {{std::move(*first), {}}};
  return candidates;
}

std::vector<Candidate> PlanSimulator::search(const Question& question, std::vector<Candidate> candidates) {
  PlanSearch search(
      question.iteration, question.machine, policy_, stop_,
      [this](std::vector<Candidate> best) { publish(std::move(best)); }, std::move(candidates));
  {
    WorkerPool workers(workers_);
    while (search.goes_on()) {
      workers.hand([this, &search] {
        const Pace::Turn turn(pace_);
        search.play();
      });
    }
  }
  return search.best();
}

}  // namespace tessera
