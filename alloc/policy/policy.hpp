// The contract of a policy: what to evict, and when to fetch it. The front of this layer.
//
// Two questions. decide(): memory is short now, which runs are evicted? plan(): the program repeats this
// iteration, which runs are offloaded in which gaps? The engine carries out a plan as long as the program
// follows the iteration; whatever the plan leaves open goes to decide(). A policy may offer several strategies
// as candidates, and the engine follows the one with the best simulated time.
//
// A policy is a pure function of its arguments: no driver, no lock, no clock, no state between calls.
// Everything a decision needs to know about the past is in the snapshot, so a policy gives the same answer in
// production, in tests and in virtual time.
//
// Thread safety: const calls from any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "planning/offload_interval.hpp"
#include "policy/snapshot.hpp"

namespace tessera {

class Policy;

// A candidate for an iteration: its offload intervals, and the policy that decides the rest on demand.
struct Strategy {
  std::string_view name;
  OffloadPlan plan;
  const Policy* fallback = nullptr;
  // strict: runs that the plan evicts go first, even if that means waiting for their pending work. Otherwise
  // they go ahead only of runs with an earlier next use.
  bool strict = false;
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::string_view name() const = 0;
  // Returns enough runs to cover snapshot.need if there are that many, in order of eviction.
  virtual Decision decide(const Snapshot& snapshot) const = 0;
  // Returns offload intervals in gaps of the iteration, each gap at most once; an empty plan leaves everything
  // to decide().
  virtual OffloadPlan plan(const Iteration& iteration, const Machine& machine) const;
  // Returns false when no further candidates are wanted.
  using EmitCandidate = std::function<bool(Strategy strategy)>;
  // Calls `emit` with each candidate, at least one, the most likely best first. Each is generated just before
  // its call, because planning a long iteration may take seconds. The policy must outlive the candidates.
  virtual void strategies(const Iteration& iteration, const Machine& machine, const EmitCandidate& emit) const;
  // A good strategy, not the best, that is found while the program waits: for an iteration whose sizes are known only
  // when it has begun.
  virtual bool has_quick_strategy() const { return false; }
  // Nothing: there is none.
  virtual std::optional<Strategy> quick_strategy(const Iteration&, const Machine&) const { return std::nullopt; }
  // Rules among which the engine chooses, by the program's own launches, what decides on the device while no plan is
  // active (residency/iteration/rule_choice.hpp); the first is preferred. None: decide() does.
  virtual std::vector<const Policy*> rules() const { return {}; }
  // Whether, given several candidates, plans near the best one may be tried as well. Not for a published rule:
  // its result must be one of its own plans.
  virtual bool may_be_refined() const { return true; }
};

// An entry of the table of policies: `name` is the value of --policy.
struct PolicyEntry {
  std::string_view name;
  std::string_view source;   // the paper, or "ours"
  std::string_view summary;  // one line
  std::unique_ptr<Policy> (*make)();
  std::unique_ptr<Policy> (*make_with)(double) = nullptr;  // for "NAME:NUMBER", if it takes a number
  bool draws = false;                                      // random; the number is the seed
};

// All policies that this library has, `auto` first.
const std::vector<PolicyEntry>& policies();
// The same policy with this seed, if it is random and its name does not contain a seed.
std::string with_seed(std::string_view name, std::uint64_t seed);
// Accepts "NAME", or "NAME:NUMBER" for policies that take a number: atc24:0.5. Errors: kInvalidArgument,
// listing the available policies.
Result<std::unique_ptr<Policy>> make_policy(std::string_view name);

}  // namespace tessera
