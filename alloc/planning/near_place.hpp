// Tracks a program's position in steps that its launches follow nearly: some of the steps are missing, and others come
// between them.
//
// While launches are the steps, one after the other, that is all there is to know. From the first that is not, the
// costs of all ways to align the launches since then with the steps near by are kept: a launch may be the next step, at
// the cost of their difference, or none of the steps, or steps may be missing. The position is that of the cheapest
// way. It may move back when a launch shows that another way was right.
//
// Source: edit distance within a band, row by row (Ukkonen, Algorithms for approximate string matching, 1985).
//
// Thread safety: none; its owner's lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera {

class NearPlace {
 public:
  using Cost = std::uint32_t;
  static constexpr Cost kMissing = 2;       // of a step that is not launched
  static constexpr Cost kNever = 1000;      // the launch is not this step
  static constexpr std::size_t kBand = 32;  // steps on either side of the position
  // So many launches in a row that are the next step end the search for other ways.
  static constexpr std::size_t kSettled = 16;
  // The launches are other ones: they cost more than kMostCost in the mean of about kMeanLaunches.
  static constexpr double kMostCost = 3, kMeanLaunches = 32;

  // The program is behind step `place` of so many. REQUIRES: more than two.
  NearPlace(std::size_t steps, std::size_t place)
      : steps_(steps), band_(std::min(kBand, (steps - 1) / 2)), place_(place) {}

  // The next launch. `cost_of(step)`: how unlike the step it is; 0 = it is the step. `other`: the cost if it is none of
  // the steps.
  template <class CostOf>
  void note(CostOf cost_of, Cost other);
  // Of the last launch, or of the last step before it.
  std::size_t place() const { return place_; }
  // The last launch is the step.
  bool is_step() const { return is_step_; }
  // The launches do not follow the steps any more.
  bool is_lost() const { return mean_cost_ > kMostCost; }

 private:
  // Of a way that ends at a step.
  struct Way {
    Cost cost = kNever;
    bool is_step = false;  // the last launch is the step
  };

  void begin_search();
  void align(Cost other);
  std::size_t step_at(std::size_t offset) const { return (place_ + steps_ - band_ + offset) % steps_; }
  void move_to(std::size_t offset);

  std::size_t steps_, band_;
  std::size_t place_;
  bool is_step_ = true;
  std::size_t settled_ = 0;  // launches in a row that were the next step
  double mean_cost_ = 0;
  std::vector<Way> ways_;  // to steps from band_ ahead of the position to band_ behind it; empty: only one is possible
  std::vector<Way> next_;
  std::vector<Cost> costs_;  // of the last launch as these steps
};

template <class CostOf>
void NearPlace::note(CostOf cost_of, Cost other) {
  mean_cost_ -= mean_cost_ / kMeanLaunches;
  const std::size_t next = (place_ + 1) % steps_;
  if (ways_.empty() && cost_of(next) == 0) {
    place_ = next;
    is_step_ = true;
    return;
  }
  costs_.clear();
  for (std::size_t i = 0; i <= 2 * band_; ++i) costs_.push_back(cost_of(step_at(i)));
  align(other);
}

}  // namespace tessera
