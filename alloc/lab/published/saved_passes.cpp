#include "lab/published/saved_passes.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

namespace tessera {
namespace {

// Connected sets of steps (union-find); each set is represented by one of its steps.
class Passes {
 public:
  explicit Passes(const PlanGround& ground) : pass_of_(ground.iteration.steps.size()) {
    std::iota(pass_of_.begin(), pass_of_.end(), 0U);
    std::vector<std::optional<std::uint32_t>> last(
        ground.iteration.runs.size());  // latest use of the current contents, per run
    for (std::uint32_t step = 0; step < pass_of_.size(); ++step) {
      for (const RunUse& use : ground.iteration.uses_of(step)) {
        if (ground.structure.classes[use.run] != RunClass::kActivation) continue;
        if (last[use.run] && !use.fresh) join(*last[use.run], step);
        last[use.run] = step;
      }
    }
  }

  std::uint32_t of(std::uint32_t step) {
    while (pass_of_[step] != step) step = pass_of_[step] = pass_of_[pass_of_[step]];
    return step;
  }

 private:
  void join(std::uint32_t a, std::uint32_t b) { pass_of_[of(b)] = of(a); }

  std::vector<std::uint32_t> pass_of_;  // another step of the set, or the step itself
};

// If gradients are tagged, untagged runs do not count: between passes, structure.hpp classifies new runs as
// gradients.
std::vector<bool> steps_back(const PlanGround& ground) {
  const auto& runs = ground.iteration.runs;
  const bool told = std::ranges::find(runs, RunClass::kGradient, &IterationRun::kind) != runs.end();
  std::vector<bool> back(ground.iteration.steps.size());
  for (std::uint32_t step = 0; step < back.size(); ++step) {
    back[step] = std::ranges::any_of(ground.iteration.uses_of(step), [&](const RunUse& use) {
      return (told ? runs[use.run].kind : ground.structure.classes[use.run]) == RunClass::kGradient;
    });
  }
  return back;
}

}  // namespace

std::vector<std::vector<Gap>> saved_by_pass(const PlanGround& ground) {
  const std::vector<bool> back = steps_back(ground);
  const std::uint32_t turn = ground.structure.forward_end;
  std::vector<Gap> saved;
  for (const Gap& gap : ground.gaps) {
    const bool turns = back[gap.until] || (gap.after < turn && gap.until >= turn);
    if (ground.class_of(gap) == RunClass::kActivation && !gap.wraps && !back[gap.after] && turns) saved.push_back(gap);
  }
  std::ranges::stable_sort(saved, {}, &Gap::after);
  Passes passes(ground);
  std::map<std::uint32_t, std::size_t> place_of;  // by pass
  std::vector<std::vector<Gap>> by_pass;
  for (const Gap& gap : saved) {
    const auto [found, is_new] = place_of.try_emplace(passes.of(gap.after), by_pass.size());
    if (is_new) by_pass.emplace_back();
    by_pass[found->second].push_back(gap);
  }
  return by_pass;
}

}  // namespace tessera
