// Finds the strategies for a learned iteration while the program runs.
//
// The engine asks once it knows an iteration with its durations, and polls for the answer whenever it reads launches.
// Until then the policy decides without a plan. Several strategies that may be the best are measured in the program
// itself (planning/plan_bandit.hpp).
//
// Thread safety: the engine's lock. An implementation may use threads of its own.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "policy/policy.hpp"

namespace tessera {

struct Candidate {
  Strategy strategy;
  Nanoseconds time;  // predicted time of an iteration under it; 0 = not known
};

class Planner {
 public:
  virtual ~Planner() = default;
  // Starts the search; drops a request that was not answered yet.
  virtual void ask(const Iteration& iteration, const Machine& machine) = 0;
  // The strategies, once they are found and again when a better one is found: best first, at least one. Else nothing.
  // They refer to objects that live as long as the planner's policy.
  virtual std::vector<Candidate> answer() = 0;
};

// Answers at once with the first strategy of the policy.
class FirstStrategy final : public Planner {
 public:
  // REQUIRES: `policy` outlives it.
  explicit FirstStrategy(const Policy& policy) : policy_(policy) {}
  void ask(const Iteration& iteration, const Machine& machine) override {
    policy_.strategies(iteration, machine, [this](Strategy likeliest) {
      answer_ = {{std::move(likeliest), {}}};
      return false;
    });
  }
  std::vector<Candidate> answer() override { return std::exchange(answer_, {}); }

 private:
  const Policy& policy_;
  std::vector<Candidate> answer_;
};

// Makes the planner of an engine with this policy, which outlives it.
using MakePlanner = std::function<std::unique_ptr<Planner>(const Policy& policy)>;

inline std::unique_ptr<Planner> first_strategy(const Policy& policy) { return std::make_unique<FirstStrategy>(policy); }

// The deciding policy, and the planner that searches its strategies. The planner is destroyed first, which may take as
// long as cancelling its search.
struct Guide {
  std::unique_ptr<Policy> policy;
  std::unique_ptr<Planner> planner;
};

inline Guide make_guide(std::unique_ptr<Policy> policy, const MakePlanner& make_planner) {
  auto planner = make_planner(*policy);
  return {std::move(policy), std::move(planner)};
}

}  // namespace tessera
