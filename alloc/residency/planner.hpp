// Who finds the strategies for a learned iteration, while the program goes on.
//
// The engine asks once it knows an iteration with its durations, and looks for the answer whenever it
// reads what was launched. Until then the policy decides without a plan. Several strategies that may be the best are
// tried in the program itself (learn/trial.hpp).
//
// Thread safety: the engine's lock. An implementation may think elsewhere.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "policy/policy.hpp"

namespace tessera {

struct Told {
  Strategy strategy;
  Nanoseconds time;  // of an iteration under it; 0 = nobody knows
};

class Planner {
 public:
  virtual ~Planner() = default;
  // Begins to look for it; a question that was not answered yet is dropped.
  virtual void ask(const Iteration& iteration, const Machine& machine) = 0;
  // When it is found, and again when a better one is: the best first, at least one; else nothing. What it refers to
  // lives as long as the planner's policy.
  virtual std::vector<Told> answer() = 0;
};

// The policy's likeliest, at once.
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
  std::vector<Told> answer() override { return std::exchange(answer_, {}); }

 private:
  const Policy& policy_;
  std::vector<Told> answer_;
};

// Makes the planner of an engine with this policy, which outlives it.
using MakePlanner = std::function<std::unique_ptr<Planner>(const Policy& policy)>;

inline std::unique_ptr<Planner> first_strategy(const Policy& policy) {
  return std::make_unique<FirstStrategy>(policy);
}

// Who decides, and who finds his strategies. The planner goes first, and may take as long as what it thinks of can
// be broken off.
struct Guide {
  std::unique_ptr<Policy> policy;
  std::unique_ptr<Planner> planner;
};

inline Guide make_guide(std::unique_ptr<Policy> policy, const MakePlanner& make_planner) {
  auto planner = make_planner(*policy);
  return {std::move(policy), std::move(planner)};
}

}  // namespace tessera
