#include "rehearse/rehearsal.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/log.hpp"
#include "base/thread.hpp"
#include "rehearse/contest.hpp"
#include "rehearse/heard.hpp"
#include "rehearse/players.hpp"
#include "rehearse/search.hpp"

namespace tessera {

std::size_t Rehearsal::players_beside(double processors) {
  return static_cast<std::size_t>(std::clamp(processors / kShare, 1.0, kMostPlayers));
}

Rehearsal::Rehearsal(const Policy& policy, Answer answer, std::size_t players, double share)
    : policy_(policy), when_(answer), players_(players), pace_(share, stop_) {}

Rehearsal::~Rehearsal() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
    stop_.store(true);  // under the lock, since await_question() clears it
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Rehearsal::ask(const Iteration& iteration, const Machine& machine) {
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

std::vector<Told> Rehearsal::answer() {
  MutexLock lock(mutex_);
  while (when_ == Answer::kWaits && (question_ || thinking_)) changed_.wait(mutex_);
  return std::exchange(found_, {});
}

void Rehearsal::run() {
  while (const std::optional<Question> question = await_question()) {
    publish(best_of(*question));
    MutexLock lock(mutex_);
    thinking_ = false;
    changed_.notify_all();
  }
}

std::optional<Rehearsal::Question> Rehearsal::await_question() {
  MutexLock lock(mutex_);
  while (!question_ && !ending_) changed_.wait(mutex_);
  if (ending_) return std::nullopt;
  stop_.store(false);
  thinking_ = true;
  return std::exchange(question_, std::nullopt);
}

// Drops the result if a newer request is waiting.
void Rehearsal::publish(std::vector<Told> told) {
  MutexLock lock(mutex_);
  if (!question_) found_ = std::move(told);
}

std::vector<Told> Rehearsal::best_of(const Question& question) {
  const bool can_play = question.machine.in_rate > 0 && question.machine.out_rate > 0;
  std::vector<Told> told = hear(question, can_play ? players_ : 0);
  if (!told.front().time || stop_.load() || !policy_.may_be_refined()) return told;
  publish(told);
  return search(question, std::move(told));
}

// Without workers the first candidate is the answer, without a predicted time.
std::vector<Told> Rehearsal::hear(const Question& question, std::size_t players) {
  const Iteration& iteration = question.iteration;
  Contest contest(iteration, question.machine, policy_, stop_, [this](const Told& best) { publish({best}); });
  std::optional<Strategy> first;
  {
    Heard heard;
    std::size_t places = 0;
    Players at_play(players);
    const auto play = [&](std::size_t place, Strategy strategy) {
      at_play.hand([this, &contest, place, strategy = std::move(strategy)]() mutable {
        const Pace::Turn turn(pace_);
        contest.play(place, std::move(strategy));
      });
    };
    const auto take = [&](Strategy strategy) {
      const bool another = heard.add(strategy);
      if (!first) {
        first = std::move(strategy);
        return players > 0 && !stop_.load();
      }
      // A single candidate is not simulated: there is nothing to compare it with. The second is simulated
      // before the first, because the program is usually running the first already and only another candidate
      // can improve on it.
      if (another) play(++places, std::move(strategy));
      if (places == 1 && another && contest.goes_on()) play(0, *first);
      return contest.goes_on();
    };
    // Making strategies is work as well as playing them.
    std::optional<Pace::Turn> making(std::in_place, pace_);
    policy_.strategies(iteration, question.machine, [&](Strategy strategy) {
      making.reset();
      const bool goes_on = take(std::move(strategy));
      making.emplace(pace_);
      return goes_on;
    });
  }
  std::vector<Told> told = contest.best();
  if (told.empty()) return {{std::move(*first), {}}};
  return told;
}

std::vector<Told> Rehearsal::search(const Question& question, std::vector<Told> told) {
  Search search(question.iteration, question.machine, policy_, stop_,
                [this](std::vector<Told> best) { publish(std::move(best)); }, std::move(told));
  {
    Players players(players_);
    while (search.goes_on()) {
      players.hand([this, &search] {
        const Pace::Turn turn(pace_);
        search.play();
      });
    }
  }
  return search.best();
}

}  // namespace tessera
