#include "rehearse/rehearsal.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "base/thread.hpp"
#include "rehearse/stage.hpp"

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

Rehearsal::Rehearsal(const Policy& policy, Answer answer) : policy_(policy), when_(answer) {}

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
  std::vector<Told> told;
  Nanoseconds enough(~std::uint64_t{0});
  std::uint64_t uses = 0;
  Heard heard;
  const auto play = [&](Strategy strategy) {
    if (!heard.add(strategy)) return;
    auto stage = Stage::create(iteration, machine, strategy, policy_);
    const Result<Nanoseconds> time =
        stage.is_ok() ? stage.value()->play(enough, stop_) : Result<Nanoseconds>(stage.status());
    log_line(LogLevel::kDebug, "rehearsed {}: {}", strategy.name,
             time.is_ok() ? fmt::format("{} ns", time.value().value()) : time.status().to_string());
    if (stage.is_ok()) uses += static_cast<std::uint64_t>(stage.value()->passes()) * iteration.uses.size();
    if (!time.is_ok()) return;
    const bool best = told.empty() || time.value() < std::ranges::min(told, {}, &Told::time).time;
    enough = std::min(enough, time.value() + time.value() / kDoubt);
    told.push_back({std::move(strategy), time.value()});
    if (best) publish({told.back()});
  };
  // One alone is not played: there is nothing to compare it with.
  std::optional<Strategy> first;
  bool several = false;
  policy_.strategies(iteration, machine, [&](Strategy strategy) {
    if (!first) {
      first = std::move(strategy);
      return can_play && !stop_.load();
    }
    if (!std::exchange(several, true)) play(*first);
    if (!stop_.load() && uses <= kMostUses) play(std::move(strategy));
    return !stop_.load() && uses <= kMostUses;
  });
  if (told.empty()) return {{std::move(*first), {}}};
  // To the nanosecond as long, that is the same moves.
  std::ranges::stable_sort(told, {}, &Told::time);
  const auto alike = [](const Told& a, const Told& b) { return a.time == b.time; };
  told.erase(std::unique(told.begin(), told.end(), alike), told.end());
  std::erase_if(told, [enough](const Told& each) { return each.time > enough; });
  if (told.size() > kMostTold) told.resize(kMostTold);
  return told;
}

}  // namespace tessera
