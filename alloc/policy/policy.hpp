// The contract of a policy: who should leave. The front of this layer.
//
// A policy is a pure function of the snapshot: no driver, no lock, no clock, no memory of its own
// between calls. What a decision needs to know about the past is in the snapshot, so the same
// policy gives the same answer in production, in a test and in virtual time.
//
// Thread safety: const calls from any thread.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "policy/snapshot.hpp"

namespace tessera {

class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::string_view name() const = 0;
  // Enough runs to cover snapshot.need if there are that many, in the order they should leave.
  virtual Decision decide(const Snapshot& snapshot) const = 0;
};

// One row of the gallery: `name` is what --policy takes.
struct PolicyEntry {
  std::string_view name;
  std::string_view source;   // the paper, or "ours"
  std::string_view summary;  // one line
  std::unique_ptr<Policy> (*make)();
};

const std::vector<PolicyEntry>& policies();
// Errors: kInvalidArgument naming the policies there are.
Result<std::unique_ptr<Policy>> make_policy(std::string_view name);

}  // namespace tessera
