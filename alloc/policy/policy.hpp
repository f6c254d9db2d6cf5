// The contract of a policy: who should leave, and when to be back. The front of this layer.
//
// Two questions. decide(): memory is short now, who leaves? plan(): the program repeats this
// iteration, which runs shall be away in which gaps? The engine carries a plan out as long as the
// program keeps to the iteration; whatever a plan leaves open falls to decide(). A policy that is
// not sure names several strategies, and the engine follows the one that does best in a rehearsal.
//
// A policy is a pure function of what it is given: no driver, no lock, no clock, no memory of its
// own between calls. What a decision needs to know about the past is in the snapshot, so the same
// policy gives the same answer in production, in a test and in virtual time.
//
// Thread safety: const calls from any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "learn/absence.hpp"
#include "policy/snapshot.hpp"

namespace tessera {

class Policy;

// One way through an iteration: who is away when, and whose decide() is asked for the rest.
struct Strategy {
  std::string_view name;
  AbsencePlan plan;
  const Policy* rest = nullptr;
  // Who is to leave by plan leaves before anybody else, though the work on him has to be waited for. Else
  // only before those who are needed sooner than he is.
  bool strict = false;
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::string_view name() const = 0;
  // Enough runs to cover snapshot.need if there are that many, in the order they should leave.
  virtual Decision decide(const Snapshot& snapshot) const = 0;
  // Absences in gaps of the iteration, each gap at most once; none: decide() is asked as it goes.
  virtual AbsencePlan plan(const Iteration& iteration, const Machine& machine) const;
  // False: that is enough.
  using Hear = std::function<bool(Strategy strategy)>;
  // Tells the ways that may be the best here, at least one, the likeliest first; each is made when it is told, because
  // of a long iteration a plan may take seconds. The policy outlives them.
  virtual void strategies(const Iteration& iteration, const Machine& machine, const Hear& hear) const;
  // Whether plans near the best of several may be tried as well. Of a published rule the best is still its own.
  virtual bool may_be_refined() const { return true; }
};

// One row of the gallery: `name` is what --policy takes.
struct PolicyEntry {
  std::string_view name;
  std::string_view source;   // the paper, or "ours"
  std::string_view summary;  // one line
  std::unique_ptr<Policy> (*make)();
  std::unique_ptr<Policy> (*make_with)(double) = nullptr;  // of "NAME:NUMBER", where it takes a number
  bool draws = false;        // lots, and the number is their seed
};

const std::vector<PolicyEntry>& policies();
// The same policy with this seed, if it draws lots and its name does not give one.
std::string with_seed(std::string_view name, std::uint64_t seed);
// "NAME", or "NAME:NUMBER" for those that take a number: atc24:0.5.
// Errors: kInvalidArgument naming the policies there are.
Result<std::unique_ptr<Policy>> make_policy(std::string_view name);

}  // namespace tessera
