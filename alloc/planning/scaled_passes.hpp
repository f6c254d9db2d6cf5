// Passes of one iteration at several scales, and what a pass at another scale is like.
//
// A program whose batches have other lengths or image sizes makes the same launches with other sizes. Most sizes do not
// change (weights), or are proportional to the scale (activations), or to its square (attention). Between two scales
// that were seen, sizes and times are interpolated, which is exact for the first two and near for the third; outside
// of them, the line through the nearest two goes on.
//
// The scale is the size of one run that is not always equally large. Of those that the first launches use, it is the
// largest in any pass, because sizes are known in whole pages: a small one tells little.
//
// Thread safety: none; its owner's lock.
//
// Bounds: kMost passes are kept; of one more, the oldest goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "planning/iteration.hpp"

namespace tessera {

// By run and by step of the iteration.
struct ScaledPass {
  std::vector<Bytes> bytes;
  std::vector<Nanoseconds> durations;
  std::vector<Nanoseconds> before;  // as IterationStep::before
};

class ScaledPasses {
 public:
  static constexpr std::size_t kMost = 32;

  // The first 1 / kEarly of the launches, but at least kLeastEarly, are the first ones.
  static constexpr std::size_t kEarly = 32, kLeastEarly = 8;

  // `iteration`: the order in which runs are used.
  explicit ScaledPasses(const Iteration& iteration);

  // Takes the place of a pass of the same scale. REQUIRES: sizes and times for all runs and steps.
  void add(ScaledPass pass);
  std::size_t size() const { return passes_.size(); }
  // Whether passes had other sizes of this run.
  bool varies(std::uint32_t run) const;
  // The run whose size is the scale; none while all passes had the same sizes. It may be another one after add().
  std::optional<std::uint32_t> teller() const { return teller_; }
  // REQUIRES: a teller, of which `scale` is the size.
  ScaledPass at(Bytes scale) const;

 private:
  void choose_teller();

  std::vector<std::uint32_t> order_;  // runs by their first use,
  std::size_t early_ = 0;             // of which so many are used by the first launches
  std::vector<ScaledPass> passes_;    // oldest first
  std::optional<std::uint32_t> teller_;
};

}  // namespace tessera
