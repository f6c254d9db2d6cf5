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
  // For each step, the next one of another pass; the number of steps if there is none. Steps without activations are
  // of no pass.
  std::vector<std::uint32_t> next_others(const PlanGround& ground) {
    const auto count = static_cast<std::uint32_t>(pass_of_.size());
    std::vector<std::uint32_t> others(count, count);
    std::uint32_t next = count;  // step of a pass
    for (std::uint32_t step = count; step-- > 0;) {
      if (next < count) others[step] = of(step) == of(next) ? others[next] : next;
      const bool counts = std::ranges::any_of(ground.iteration.uses_of(step), [&](const RunUse& use) {
        return ground.structure.classes[use.run] == RunClass::kActivation;
      });
      if (counts) next = step;
    }
    return others;
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
  std::vector<bool> back = steps_back(ground);
  const std::uint32_t turn = ground.structure.forward_end;
  Passes passes(ground);
  const std::vector<std::uint32_t> others = passes.next_others(ground);
  std::vector<Gap> waiting;
  for (const Gap& gap : ground.gaps) {
    if (ground.class_of(gap) == RunClass::kActivation && !gap.wraps) waiting.push_back(gap);
  }
  // A pass runs forward, and backward, without another pass between its steps.
  for (const Gap& gap : waiting) {
    if (others[gap.after] < gap.until) back[gap.until] = true;
  }
  std::vector<Gap> saved;
  for (const Gap& gap : waiting) {
    const bool turns = back[gap.until] || (gap.after < turn && gap.until >= turn);
    if (!back[gap.after] && turns) saved.push_back(gap);
  }
  std::ranges::stable_sort(saved, {}, &Gap::after);
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
