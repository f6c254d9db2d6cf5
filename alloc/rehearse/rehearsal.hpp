// Rehearses the strategies of a policy beside the program, and answers with the best few.
//
// Each is played on the engine itself in virtual time (stage.hpp), so the judge knows all that the engine
// does, and no model of it has to be kept true. The first strategy is the answer where nothing can be
// told: no rate of a link is known yet, or nothing could be played. Of strategies that would do the
// same one is played.
//
// Source: simulation as the judge of plans, SwapAdvisor (papers.md §3.4); here of whole policies.
//
// An iteration of many launches takes long to play; the best so far is the answer until there is a better one
// (contest.hpp). Several are played at once where there are processors for it. Who is behind is given up sooner
// when a better one ends sooner, so with several players the answer is a matter of luck among those that are
// nearly the best. When all have been heard, plans near the best are tried (search.hpp), and what was heard is the answer meanwhile.
//
// Without a thread to be had a question has no answer; the next one tries again.
//
// Bounds: Contest::kMostUses and Search::kMostUses uses are played for one question; strategies beyond that are not
// heard. Each player has a stage in memory.
//
// Thread safety: ask() and answer() by one thread at a time; the rehearsals have threads of their own.
#pragma once

#include <atomic>
#include <thread>

#include "base/mutex.hpp"
#include "rehearse/pace.hpp"
#include "residency/residency.hpp"

namespace tessera {

class Rehearsal final : public Planner {
 public:
  // kWaits: answer() waits until there is no better one. With one player a run in virtual time depends on nothing else.
  enum class Answer : std::uint8_t { kWhenReady, kWaits };

  // A quarter of so many processors: the program has use for the others. Beyond four there is little left to wait for,
  // and each takes memory. One of them keeps to less than a processor where there are few (pace.hpp).
  static std::size_t players_beside(double processors);

  // `share` of a processor for each player. REQUIRES: `policy` outlives it; players > 0; share > 0.
  explicit Rehearsal(const Policy& policy, Answer answer, std::size_t players = 1, double share = 1);
  // Breaks off what is being played.
  ~Rehearsal() override;

  void ask(const Iteration& iteration, const Machine& machine) override;
  std::vector<Told> answer() override;

 private:
  static constexpr double kShare = 4, kMostPlayers = 4;

  struct Question {
    Iteration iteration;
    Machine machine;
  };
  void run();
  std::optional<Question> await_question();
  std::vector<Told> best_of(const Question& question);
  std::vector<Told> hear(const Question& question, std::size_t players);
  std::vector<Told> search(const Question& question, std::vector<Told> told);
  void publish(std::vector<Told> told);

  const Policy& policy_;
  const Answer when_;
  const std::size_t players_;
  std::atomic<bool> stop_{false};  // what is being played is not wanted any more
  const Pace pace_;
  Mutex mutex_{LockRank::kObserve};
  Condition changed_;
  std::optional<Question> question_ GUARDED_BY(mutex_);  // not begun
  std::vector<Told> found_ GUARDED_BY(mutex_);
  bool thinking_ GUARDED_BY(mutex_) = false;
  bool ending_ GUARDED_BY(mutex_) = false;
  std::thread thread_;  // from the first question on
};

}  // namespace tessera
