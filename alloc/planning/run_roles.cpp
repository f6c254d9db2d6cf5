#include "planning/run_roles.hpp"

#include <algorithm>
#include <tuple>

namespace tessera {

RunRoles::RunRoles(const Iteration& iteration)
    : seen_(iteration.runs.size()),
      begins_fresh_(iteration.runs.size()),
      tells_(iteration.runs.size()),
      is_open_(iteration.runs.size(), true),
      slot_of_role_(iteration.runs.size(), kNone) {
  for (const IterationRun& run : iteration.runs) bytes_.push_back(run.bytes);
  std::vector<bool> seen(iteration.runs.size());
  for (const RunUse& use : iteration.uses) {
    if (!seen[use.run]) begins_fresh_[use.run] = use.fresh;
    seen[use.run] = true;
  }
  find_telling(iteration);
}

void RunRoles::find_telling(const Iteration& iteration) {
  std::vector<std::size_t> uses(iteration.runs.size());
  for (const RunUse& use : iteration.uses) ++uses[use.run];
  const std::size_t most = std::max(kCommon, iteration.steps.size() / kCommonPart);
  for (std::uint32_t role = 0; role < uses.size(); ++role) tells_[role] = !begins_fresh_[role] && uses[role] <= most;
  for (std::uint32_t step = 0; step < iteration.steps.size(); ++step) {
    first_telling_.push_back(static_cast<std::uint32_t>(telling_in_.size()));
    for (const RunUse& use : iteration.uses_of(step)) {
      if (tells_[use.run]) telling_in_.push_back(use.run);
    }
  }
  first_telling_.push_back(static_cast<std::uint32_t>(telling_in_.size()));
}

void RunRoles::look_at(std::span<const Use> uses) {
  uses_ = uses;
  known_.clear();
  telling_.clear();
  for (const Use& use : uses) {
    const auto known = use.fresh ? role_of_.end() : role_of_.find(use.run);
    known_.push_back(known == role_of_.end() ? kNone : known->second);
    if (known_.back() != kNone && tells_[known_.back()]) telling_.push_back(known_.back());
  }
}

RunRoles::Fit RunRoles::fit(std::uint32_t step) const {
  const std::span<const std::uint32_t> in_step = telling_in(step);
  const bool fits = std::ranges::all_of(
      telling_, [in_step](std::uint32_t role) { return std::ranges::find(in_step, role) != in_step.end(); });
  if (!fits) return Fit::kNo;
  if (telling_.size() != in_step.size()) return Fit::kMaybe;
  return telling_.empty() ? Fit::kUntold : Fit::kYes;
}

std::span<const std::uint32_t> RunRoles::match(const Iteration& iteration, std::uint32_t step) {
  const std::span<const RunUse> slots = iteration.uses_of(step);
  matched_.assign(slots.size(), kNone);
  free_uses_.clear();
  free_slots_.clear();
  for (std::uint32_t slot = 0; slot < slots.size(); ++slot) slot_of_role_[slots[slot].run] = slot;
  for (std::uint32_t i = 0; i < uses_.size(); ++i) {
    const std::uint32_t role = known_[i];
    const std::uint32_t slot = role == kNone ? kNone : slot_of_role_[role];
    if (slot != kNone && matched_[slot] == kNone) {
      matched_[slot] = i;
    } else if (role == kNone || begins_fresh_[role]) {  // what lives on keeps its role
      free_uses_.push_back(i);
    }
  }
  for (std::uint32_t slot = 0; slot < slots.size(); ++slot) {
    slot_of_role_[slots[slot].run] = kNone;
    const std::uint32_t role = slots[slot].run;
    if (matched_[slot] == kNone && (!tells_[role] || is_open_[role])) free_slots_.push_back(slot);
  }
  std::ranges::stable_sort(
      free_uses_, {}, [&](std::uint32_t i) { return std::tuple(uses_[i].fresh, uses_[i].writes, uses_[i].bytes); });
  std::ranges::stable_sort(free_slots_, {}, [&](std::uint32_t slot) {
    return std::tuple(slots[slot].fresh, slots[slot].writes, bytes_[slots[slot].run]);
  });
  if (free_uses_.size() != free_slots_.size()) {  // other kernels did this work before: only what is new is known
    std::erase_if(free_uses_, [&](std::uint32_t i) { return !uses_[i].fresh; });
    std::erase_if(free_slots_, [&](std::uint32_t slot) { return !slots[slot].fresh; });
  }
  if (free_uses_.size() == free_slots_.size()) {
    for (std::size_t i = 0; i < free_slots_.size(); ++i) matched_[free_slots_[i]] = free_uses_[i];
  }
  for (std::uint32_t slot = 0; slot < slots.size(); ++slot) {
    if (matched_[slot] == kNone) continue;
    const Use& use = uses_[matched_[slot]];
    const std::uint32_t role = slots[slot].run;
    role_of_[use.run] = role;
    is_open_[role] = false;
    bytes_[role] = use.bytes;
    seen_[role] = true;
  }
  return matched_;
}

void RunRoles::forget(std::uint64_t run) {
  const auto known = role_of_.find(run);
  if (known == role_of_.end()) return;
  is_open_[known->second] = true;
  role_of_.erase(known);
}

void RunRoles::begin_pass() {
  std::erase_if(role_of_, [this](const auto& known) { return begins_fresh_[known.second]; });
  seen_.assign(seen_.size(), false);
}

}  // namespace tessera
