// The host memory that is registered with the simulated machine: disjoint ranges.
//
// Thread safety: none; SimDriver locks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "sim/sim_work.hpp"

namespace tessera {

class SimPins {
 public:
  // Errors: native 1 for an empty range, 712 when a part of it is already registered.
  Status add(const SimRange& range);
  // The registered range that starts here. Errors: native 713 when there is none.
  Result<SimRange> starting_at(const void* host) const;
  // REQUIRES: starting_at() returned the range.
  void remove(const SimRange& range) { ranges_.erase(range.start); }
  // Whether all of it is in one registered range.
  bool holds(const SimRange& range) const;
  std::vector<std::string> leaks() const;

 private:
  std::map<std::uint64_t, std::uint64_t> ranges_;  // start → bytes
};

}  // namespace tessera
