// Which run has which role in an iteration, where sizes vary and addresses too.
//
// A run that was used before in this pass keeps its role; a run that lives longer keeps that of the last pass. What is
// left in a launch is mostly one run, which has just been allocated. Where several are, their order by size decides,
// because sizes that grow with the scale mostly keep their order.
//
// Runs that live longer than a pass, weights above all, also tell which step a launch is, whatever its kernel is called
// and how many others it launches beside. One that many steps use, such as the workspace of a library, does not.
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
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  // A run that more than kCommon steps use, and more than 1 / kCommonPart of all, tells no step.
  static constexpr std::size_t kCommon = 4, kCommonPart = 32;

  struct Use {
    std::uint64_t run = 0;  // by name
    Bytes bytes;
    bool writes = false, fresh = false;
  };
  // How the runs of a launch that tell its step fit a step.
  enum class Fit : std::uint8_t {
    kNo,      // one of them has no role in the step
    kMaybe,   // the step uses others as well
    kUntold,  // neither the launch nor the step uses any
    kYes,     // they are those that the step uses
  };

  explicit RunRoles(const Iteration& iteration);

  // The next launch, of distinct runs. REQUIRES: the uses outlive all questions about it.
  void look_at(std::span<const Use> uses);
  // It uses runs that tell its step.
  bool tells_step() const { return !telling_.empty(); }
  Fit fit(std::uint32_t step) const;
  // Whether any step can be told.
  bool can_tell() const { return !telling_in_.empty(); }
  // It is this step. By use of the step: the index of the use that has its role now; kNone where the launch has none.
  // Valid until the next call.
  std::span<const std::uint32_t> match(const Iteration& iteration, std::uint32_t step);
  // The run is about to be removed: another one may have its role.
  void forget(std::uint64_t run);
  // A pass begins: only runs that live longer keep their roles.
  void begin_pass();
  // By run of the iteration, as last seen, and whether that was in this pass.
  const std::vector<Bytes>& bytes() const { return bytes_; }
  const std::vector<bool>& seen() const { return seen_; }

 private:
  void find_telling(const Iteration& iteration);
  std::span<const std::uint32_t> telling_in(std::uint32_t step) const {
    return std::span(telling_in_).subspan(first_telling_[step], first_telling_[step + 1] - first_telling_[step]);
  }

  std::vector<Bytes> bytes_;
  std::vector<bool> seen_;
  std::vector<bool> begins_fresh_;                            // by role: it is allocated in the pass,
  std::vector<bool> tells_;                                   // and it tells the step,
  std::vector<bool> is_open_;                                 // as long as a run has it
  std::vector<std::uint32_t> telling_in_, first_telling_;     // roles by step, and the index of each step's first
  std::unordered_map<std::uint64_t, std::uint32_t> role_of_;  // by name
  std::span<const Use> uses_;                                 // of the current launch,
  std::vector<std::uint32_t> known_;                          // their roles so far,
  std::vector<std::uint32_t> telling_;                        // and those of them that tell its step
  std::vector<std::uint32_t> slot_of_role_;                   // in the current step
  std::vector<std::uint32_t> matched_, free_uses_, free_slots_;
};

}  // namespace tessera
