// Reads what was launched, learns the iteration, has the policy plan it, and says what is due.
//
// Of several strategies each is followed until the program shows which is the fastest
// (learn/trial.hpp).
//
// Between the pure learner (learn/) and the engine that moves pages: it knows runs and epochs,
// moves nothing. A strategy is followed as long as the launches keep to the iteration (course.hpp);
// at the first that does not, orders cease and predictions end, and the policy's decide() is all
// there is until the iteration is found again.
//
// A launch is known by its work and the sizes of its runs, in order, not by their addresses: an
// activation may lie elsewhere in every iteration. Runs of one base page, which small blocks share,
// play no part: they are left to decide(), and an iteration tells of them apart.
//
// A program may have several iterations: the prompt and the words after it, training and
// validation. The last few are kept with their strategies, so that each is followed as soon as the
// program is back at it. Breaks that come regularly make a longer one, of several iterations, and loops
// a longer one, too; it goes before those that it is made of once it is told to take no longer than the
// program takes with them, and behind them while it does take longer.
// Of too many the one goes that the program was at longest ago.
//
// Thread safety: log(), watches(), times() and is_short() by any thread; the rest under the engine's lock.
//
// Launches are noted from the first on, so that an iteration in which memory gets short is known
// from its beginning; of a program that has launched kMaxSteps and is not short, no more until it
// is.
//
// Bounds: iterations of up to kMaxSteps launches, and of half of LaunchHistory::kMostMentions, are
// planned, and kMostCourses are known.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "learn/period_finder.hpp"
#include "policy/policy.hpp"
#include "residency/course.hpp"
#include "residency/launch_history.hpp"
#include "residency/launch_log.hpp"
#include "residency/planner.hpp"

namespace tessera {

class Conductor {
 public:
  static constexpr std::size_t kMaxSteps = std::size_t{1} << 16;
  static constexpr std::size_t kMostCourses = 4;

  using Order = Course::Order;
  using Orders = Course::Orders;
  using Runs = std::vector<std::unique_ptr<Run>>;

  // REQUIRES: all of them outlive it, or policy and planner the next set_policy; `runs` are all
  // there are, under the engine's lock.
  Conductor(Driver& driver, DeviceId device, const Policy& policy, Planner& planner,
            const Runs& runs, ClassOfTag class_of_tag = {})
      : policy_(&policy),
        planner_(&planner),
        all_runs_(runs),
        class_of_tag_(std::move(class_of_tag)),
        watches_(driver, device, kWatches),
        history_(watches_) {
    log_.switch_on_for(kMaxSteps);
    log_.look_from(kIdleLook);
  }

  LaunchLog& log() { return log_; }
  Stopwatches& watches() { return watches_; }
  // Launches shall be timed now: they repeat, and no strategy is followed at this moment.
  bool times() const { return times_.load(std::memory_order_relaxed); }

  // Not all blocks fit into the device any more.
  void note_shortage();
  // The likes of these blocks will share runs from now on: what was read counts as if they had done so before.
  // REQUIRES: in the order in which they were made.
  void note_moved(std::span<const MovedBlock> moved);
  bool is_short() const { return short_.load(std::memory_order_relaxed); }
  // Of all launches that were read, the most bytes and the most blocks with a run of their own that one has used.
  struct Extent {
    Bytes bytes;
    std::size_t blocks = 0;
  };
  Extent largest_launch() const { return largest_; }
  // Nothing is noted until they do not.
  void rest() { log_.switch_off(); }

  // Something was launched that was not read yet.
  bool has_news() const { return log_.has_news(); }
  // An iteration is known with its durations, and nobody was asked for its plan yet.
  bool wants_plan() { return short_ && wanted_ && learns_durations(); }
  void ask_for_plan(const Machine& machine);
  // What was followed, or asked for, is let go. What the launches taught is of the program and
  // stays, so that an iteration whose durations are known wants its plan at once.
  void set_policy(const Policy& policy, Planner& planner);
  // As if the iteration had been learned and the strategy been the answer for this machine, behind
  // Iteration::stands_at or the last of its launches, whose work is null. Its runs are played by
  // `players`, null where it is not known yet.
  void lead(Iteration iteration, const Strategy& strategy, const Machine& machine,
            std::span<Run* const> players, Orders& orders);
  // Reads what was launched since the last call, at this time; `orders` become due in their order.
  void read(Orders& orders, Nanoseconds now);
  // A strategy is followed at this moment.
  bool leads() const { return leader_ != nullptr; }
  // Who leaves by plan goes before all others (Strategy::strict).
  bool is_strict() const { return leads() && leader_->is_strict(); }
  // A plan says which runs leave, and when.
  bool moves() const { return leads() && leader_->moves(); }
  // Who is to be asked for what no plan says.
  const Policy& decider() const { return leads() ? *leader_->rest() : *policy_; }
  // The epoch of the run's next use, if from `now` on only launches make epochs; 0 = not known.
  std::uint64_t next_use(const Run& run, std::uint64_t now) const {
    return run.next > read_ ? now + (run.next - read_) : 0;
  }
  // The run goes away. REQUIRES: no launch announces it any more.
  void forget(const Run& run);

 private:
  static constexpr std::size_t kWatches = 8192;
  static constexpr std::size_t kIdleLook = 4096;  // launches, while memory is not short
  static constexpr std::size_t kSeldom = 16;      // launches, between looks for loops of a few
  static constexpr std::size_t kLooks = 16;       // in an iteration, for durations,
  static constexpr std::size_t kFew = 64;         // of which this part may be unknown
  static constexpr std::uint64_t kTie = 32;       // as long, to this part
  static constexpr std::size_t kSettled = 2;      // iterations: the first has to do with the strategy before

  void read_launch(const LaunchLog::Launch& launch, std::span<const LaunchLog::Use> uses,
                   Orders& orders, Nanoseconds now);
  void note_extent(std::span<const LaunchLog::Use> uses);
  void lose_place();
  bool is_around_all() const;
  void learn_course();
  void make_place();
  Iteration as_it_stands() const;  // standing.cpp
  Bytes pinned_beside() const;     // likewise
  std::vector<Order> players(const Iteration& iteration) const;
  bool learns_durations();
  void take_answer(Orders& orders);
  Course* first_placed(bool with_plan) const;
  bool choose_leader();
  bool is_as_fast() const;
  void put_newest_first(Nanoseconds took);
  void put_last(Course& course);

  const Policy* policy_;
  Planner* planner_;
  const Runs& all_runs_;
  const ClassOfTag class_of_tag_;
  Stopwatches watches_;
  LaunchLog log_;
  std::atomic<bool> times_{false};
  std::size_t untimely_ = 0;  // launches that were timed, and did not repeat

  std::atomic<bool> short_{false};  // of memory, now or before

  PeriodFinder finder_;
  LaunchHistory history_;
  LaunchLog::Batch batch_;

  std::vector<std::unique_ptr<Course>> courses_;  // the best first
  Course* leader_ = nullptr;                      // the first that knows its place and has a plan
  Course* newest_ = nullptr;                      // that was learned
  Nanoseconds took_{};                            // its iteration, when it was learned
  std::uint64_t began_ = 0;                       // its first launch then, by the history's numbers
  std::size_t waited_ = 0;   // of its launches since then, while memory was short,
  std::size_t look_at_ = 0;  // and with so many durations are looked at
  bool wanted_ = false;      // a plan, as soon as the durations are known
  bool asked_ = false;       // the planner, who may have a better answer yet,
  Machine machine_;          // about this one
  Nanoseconds contends_{};   // what it was told to take, or took, while it is not the first; 0 = it is
  std::uint64_t contends_from_ = 0;  // so many launches read, on
  Extent largest_;
  std::uint64_t read_ = 0;  // launches, ever: a clock that fences do not advance, as they do epochs
};

}  // namespace tessera
