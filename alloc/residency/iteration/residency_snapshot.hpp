// Where the bytes of an iteration's runs are when a plan is requested, so that a simulation can start from where the
// program is.
//
// Thread safety: none; the engine's lock. It refers to its arguments and does not outlive them.
#pragma once

#include <memory>
#include <vector>

#include "planning/iteration.hpp"
#include "residency/iteration/learned_iteration.hpp"
#include "residency/pages/run.hpp"

namespace tessera {

class ResidencySnapshot {
 public:
  // `runs`: all of the device.
  ResidencySnapshot(const LearnedIteration& learned, const std::vector<std::unique_ptr<Run>>& runs)
      : learned_(learned), runs_(runs) {}

  // The learned iteration, with the location of each page where that matters to a simulation.
  Iteration iteration() const;
  // Bytes of pinned runs outside the iteration. No plan moves them, so their room is not available to it.
  Bytes pinned_beside() const;

 private:
  const LearnedIteration& learned_;
  const std::vector<std::unique_ptr<Run>>& runs_;
};

}  // namespace tessera
