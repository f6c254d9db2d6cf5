// Simulates a policy's candidate strategies beside the program and returns the best few.
//
// Each is simulated on the engine itself in virtual time (simulated_engine.hpp), so the judge knows everything that the
// engine does, and no separate model has to be kept accurate. If nothing can be simulated, for example because
// no link rate is known yet, the first candidate is the answer. Equivalent candidates are simulated once.
//
// Source: simulation as the judge of plans, SwapAdvisor (ASPLOS 2020); here applied to whole policies.
//
// A long iteration takes long to simulate; the best candidate so far is the answer until there is a better one
// (candidate_race.hpp). Several candidates are simulated concurrently if there are processors for it. A slow candidate
// is aborted earlier when a better one finishes earlier, so with several workers the choice among nearly equal
// candidates is not deterministic. After all candidates, plans near the best ones are tried (plan_search.hpp); until
// then the best candidate is the answer.
//
// If no thread can be started, a request gets no answer; the next request tries again.
//
// Bounds: at most CandidateRace::kMostUses and PlanSearch::kMostUses uses are simulated per request; candidates beyond
// that are skipped. Each worker holds one simulated engine in memory.
//
// Thread safety: ask() and answer() by one thread at a time; simulations run on threads of their own.
#pragma once

#include <atomic>
#include <thread>

#include "base/mutex.hpp"
#include "residency/residency.hpp"
#include "sim/pace.hpp"

namespace tessera {

class PlanSimulator final : public Planner {
 public:
  // kWaits: answer() blocks until the final result. With one worker a run in virtual time is then
  // deterministic.
  enum class Answer : std::uint8_t { kWhenReady, kWaits };

  // A quarter of the processors, since the program needs the others. Beyond four workers little waiting time is
  // left to save, and each takes memory. With few processors the single worker uses less than one (pace.hpp).
  static std::size_t workers_beside(double processors);

  // `share` of a processor for each worker. REQUIRES: `policy` outlives it; workers > 0; share > 0.
  explicit PlanSimulator(const Policy& policy, Answer answer, std::size_t workers = 1, double share = 1);
  // Aborts running simulations.
  ~PlanSimulator() override;

  void ask(const Iteration& iteration, const Machine& machine) override;
  std::vector<Candidate> answer() override;

 private:
  static constexpr double kShare = 4, kMostWorkers = 4;

  struct Question {
    Iteration iteration;
    Machine machine;
  };
  void run();
  std::optional<Question> await_question();
  std::vector<Candidate> best_of(const Question& question);
  std::vector<Candidate> simulate_candidates(const Question& question, std::size_t workers);
  std::vector<Candidate> search(const Question& question, std::vector<Candidate> candidates);
  void publish(std::vector<Candidate> candidates);

  const Policy& policy_;
  const Answer when_;
  const std::size_t workers_;
  std::atomic<bool> stop_{false};  // aborts running simulations
  const Pace pace_;
  Mutex mutex_{LockRank::kObserve};
  Condition changed_;
  std::optional<Question> question_ GUARDED_BY(mutex_);  // not started yet
  std::vector<Candidate> found_ GUARDED_BY(mutex_);
  bool thinking_ GUARDED_BY(mutex_) = false;
  bool ending_ GUARDED_BY(mutex_) = false;
  std::thread thread_;  // started with the first request
};

}  // namespace tessera
