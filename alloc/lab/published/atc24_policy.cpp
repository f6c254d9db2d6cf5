#include "lab/published/atc24_policy.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

#include "base/page_class.hpp"
#include "lab/published/saved_passes.hpp"

namespace tessera {
namespace {

constexpr Bytes kLeastBlock = 1_MiB;

// Takes a share of one pass after another. As in the paper's buffer, the largest come first, and the last one
// is split to meet the share. Only whole pages leave, so an excess in one pass is deducted from the next.
class RatioShares {
 public:
  RatioShares(const PlanGround& ground, double alpha) : ground_(ground), alpha_(alpha) {}

  std::vector<OffloadInterval> of(std::vector<Gap> saved) {
    std::erase_if(saved, [this](const Gap& gap) { return ground_.bytes_of(gap) <= kLeastBlock; });
    std::ranges::stable_sort(saved, std::greater(), [this](const Gap& gap) { return ground_.bytes_of(gap); });
    for (const Gap& gap : saved) seen_ += ground_.bytes_of(gap);
    const Bytes share(static_cast<std::uint64_t>(std::ceil(alpha_ * static_cast<double>(seen_.value()))));
    std::vector<OffloadInterval> leaving;
    for (const Gap& gap : saved) {
      if (taken_ >= share) break;
      const Bytes whole = ground_.bytes_of(gap), part = last_pages(whole, share - taken_);
      leaving.push_back({.gap = gap, .part = part < whole ? part : kWholeRun});
      taken_ += std::min(part, whole);
    }
    return leaving;
  }

 private:
  const PlanGround& ground_;
  const double alpha_;
  Bytes seen_, taken_;
};

// Two buffers in turn: while the backward pass of one runs, the share of the next is fetched. So the fetch begins when
// the backward pass before it begins, and of the first when the last forward pass before it does.
class FetchBuffers {
 public:
  explicit FetchBuffers(const std::vector<std::vector<Gap>>& passes) {
    for (const std::vector<Gap>& saved : passes) {
      forward_.push_back(std::ranges::min(saved, {}, &Gap::after).after);
      backward_.push_back(first_use(saved));
    }
    std::ranges::sort(forward_);
    std::ranges::sort(backward_);
  }

  // The step at which the fetch of a pass begins; none if no other pass runs between its forward and its backward pass.
  std::optional<std::uint32_t> fetched_at(const std::vector<Gap>& saved) const {
    const std::uint32_t begin = first_use(saved);
    const auto before = std::ranges::lower_bound(backward_, begin);
    const std::uint32_t step =
        before != backward_.begin() ? *std::prev(before) : *std::prev(std::ranges::lower_bound(forward_, begin));
    const bool between = std::ranges::all_of(saved, [step](const Gap& gap) { return gap.after < step; });
    return between ? std::optional(step) : std::nullopt;
  }

 private:
  static std::uint32_t first_use(const std::vector<Gap>& saved) {
    return std::ranges::min(saved, {}, &Gap::until).until;
  }

  // Ascending: the steps after which passes save first, and those that use first what they saved.
  std::vector<std::uint32_t> forward_, backward_;
};

OffloadPlan plan_of_share(const Iteration& iteration, const Machine& machine, double alpha) {
  PlanGround ground(iteration, machine);
  const std::vector<std::vector<Gap>> passes = saved_by_pass(ground);
  const FetchBuffers buffers(passes);
  RatioShares shares(ground, alpha);
  std::vector<OffloadInterval> alone;
  for (const std::vector<Gap>& saved : passes) {
    const std::optional<std::uint32_t> step = buffers.fetched_at(saved);
    for (OffloadInterval interval : shares.of(saved)) {
      if (step) interval.back_at = *step;
      (step ? ground.plan : alone).push_back(interval);
    }
  }
  ground.leave_in_chain(std::move(alone));
  return std::move(ground.plan);
}

}  // namespace

OffloadPlan Atc24Policy::plan(const Iteration& iteration, const Machine& machine) const {
  if (alpha_ >= 0) return plan_of_share(iteration, machine, std::min(alpha_, 1.0));
  for (int tenths = 0; tenths < 10; ++tenths) {
    OffloadPlan plan = plan_of_share(iteration, machine, tenths / 10.0);
    if (planned_peak(iteration, machine, plan) <= machine.device) return plan;
  }
  return plan_of_share(iteration, machine, 1);
}

}  // namespace tessera
