#include "rehearse/rehearsal.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/log.hpp"
#include "base/thread.hpp"
#include "rehearse/contest.hpp"
#include "rehearse/players.hpp"

namespace tessera {
namespace {

// What the engine carries out of a plan, in its order.
using Way = std::vector<std::array<std::uint64_t, 6>>;

Way way_of(const AbsencePlan& plan) {
  Way way;
  for (const auto& [gap, back_at, to, part] : plan) {
    const std::uint64_t remade = to == Away::kRegenerated ? 1 : 0;
    if (!gap.dead) way.push_back({gap.run, gap.after, gap.until, back_at, remade, part.value()});
  }
  return way;
}

// Many rules come to the same where there is little to decide.
class Heard {
 public:
  // False: one like it was.
  bool add(const Strategy& strategy) {
    return ways_[{strategy.rest, strategy.strict && !strategy.plan.empty()}].insert(way_of(strategy.plan)).second;
  }

 private:
  std::map<std::pair<const Policy*, bool>, std::set<Way>> ways_;
};

}  // namespace

std::size_t Rehearsal::players_beside(std::size_t processors) {
  return std::clamp<std::size_t>(processors / kShare, 1, kMostPlayers);
}

Rehearsal::Rehearsal(const Policy& policy, Answer answer, std::size_t players)
    : policy_(policy), when_(answer), players_(players) {}

Rehearsal::~Rehearsal() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
    stop_.store(true);  // a question that is just being taken up would let it go on
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
  log_line(LogLevel::kWarning, "an iteration is not rehearsed: no thread, {}", started.message());
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

// Not to a question that has been dropped.
void Rehearsal::publish(std::vector<Told> told) {
  MutexLock lock(mutex_);
  if (!question_) found_ = std::move(told);
}

std::vector<Told> Rehearsal::best_of(const Question& question) {
  const Iteration& iteration = question.iteration;
  const Machine& machine = question.machine;
  const bool can_play = machine.in_rate > 0 && machine.out_rate > 0;
  Contest contest(iteration, machine, policy_, stop_, [this](const Told& best) { publish({best}); });
  std::optional<Strategy> first;
  {
    Heard heard;
    std::size_t places = 0;
    Players players(can_play ? players_ : 1);
    const auto play = [&](std::size_t place, Strategy strategy) {
      players.hand([&contest, place, strategy = std::move(strategy)]() mutable {
        contest.play(place, std::move(strategy));
      });
    };
    policy_.strategies(iteration, machine, [&](Strategy strategy) {
      const bool another = heard.add(strategy);
      if (!first) {
        first = std::move(strategy);
        return can_play && !stop_.load();
      }
      // One alone is not played: there is nothing to compare it with. And the next one before it, because what the
      // program does meanwhile is mostly the likeliest, so that it is the other one who may bring something.
      if (another) play(++places, std::move(strategy));
      if (places == 1 && another && contest.goes_on()) play(0, *first);
      return contest.goes_on();
    });
  }
  std::vector<Told> told = contest.best();
  if (told.empty()) return {{std::move(*first), {}}};
  return told;
}

}  // namespace tessera
