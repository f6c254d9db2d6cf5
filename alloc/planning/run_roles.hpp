// Which run has which role in an iteration, where sizes vary and addresses too.
//
// A run that was used before in this pass keeps its role; a run that lives longer keeps that of the last pass. What is
// left in a launch is mostly one run, which has just been allocated. Where several are, their order by size decides,
// because sizes that grow with the scale mostly keep their order.
//
// Thread safety: none; its owner's lock.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "planning/iteration.hpp"

namespace tessera {

class RunRoles {
 public:
  struct Use {
    std::uint64_t run = 0;  // by name
    Bytes bytes;
    bool writes = false, fresh = false;
  };

  explicit RunRoles(const Iteration& iteration);

  // By use of the step: the index into `uses` of the run that has its role now. Valid until the next call. REQUIRES: as
  // many uses as the step has, of distinct runs.
  std::span<const std::uint32_t> match(const Iteration& iteration, std::uint32_t step, std::span<const Use> uses);
  // A pass begins: only runs that live longer keep their roles.
  void begin_pass();
  // By run of the iteration, as last seen.
  const std::vector<Bytes>& bytes() const { return bytes_; }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  std::vector<Bytes> bytes_;
  std::vector<bool> begins_fresh_;                            // by role: it is allocated in the pass
  std::unordered_map<std::uint64_t, std::uint32_t> role_of_;  // by name
  std::vector<std::uint32_t> slot_of_role_;                   // in the current step
  std::vector<std::uint32_t> matched_, free_uses_, free_slots_;
};

}  // namespace tessera
