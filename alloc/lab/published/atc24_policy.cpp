#include "lab/published/atc24_policy.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
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

  void take_of(std::vector<Gap> saved) {
    std::erase_if(saved, [this](const Gap& gap) { return ground_.bytes_of(gap) <= kLeastBlock; });
    std::ranges::stable_sort(saved, std::greater(), [this](const Gap& gap) { return ground_.bytes_of(gap); });
    for (const Gap& gap : saved) seen_ += ground_.bytes_of(gap);
    const Bytes share(static_cast<std::uint64_t>(std::ceil(alpha_ * static_cast<double>(seen_.value()))));
    for (const Gap& gap : saved) {
      if (taken_ >= share) return;
      const Bytes whole = ground_.bytes_of(gap), part = last_pages(whole, share - taken_);
      leaving.push_back({.gap = gap, .part = part < whole ? part : kWholeRun});
      taken_ += std::min(part, whole);
    }
  }

  std::vector<OffloadInterval> leaving;

 private:
  const PlanGround& ground_;
  const double alpha_;
  Bytes seen_, taken_;
};

OffloadPlan plan_of_share(const Iteration& iteration, const Machine& machine, double alpha) {
  PlanGround ground(iteration, machine);
  RatioShares shares(ground, alpha);
  for (std::vector<Gap>& pass : saved_by_pass(ground)) shares.take_of(std::move(pass));
  ground.leave_in_chain(std::move(shares.leaving));
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
