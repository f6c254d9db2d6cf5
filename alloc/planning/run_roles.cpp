#include "planning/run_roles.hpp"

#include <algorithm>
#include <tuple>

namespace tessera {

RunRoles::RunRoles(const Iteration& iteration)
    : begins_fresh_(iteration.runs.size()), slot_of_role_(iteration.runs.size(), kNone) {
  for (const IterationRun& run : iteration.runs) bytes_.push_back(run.bytes);
  std::vector<bool> seen(iteration.runs.size());
  for (const RunUse& use : iteration.uses) {
    if (!seen[use.run]) begins_fresh_[use.run] = use.fresh;
    seen[use.run] = true;
  }
}

std::span<const std::uint32_t> RunRoles::match(const Iteration& iteration, std::uint32_t step,
                                               std::span<const Use> uses) {
  const std::span<const RunUse> slots = iteration.uses_of(step);
  matched_.assign(slots.size(), kNone);
  free_uses_.clear();
  free_slots_.clear();
  for (std::uint32_t slot = 0; slot < slots.size(); ++slot) slot_of_role_[slots[slot].run] = slot;
  for (std::uint32_t i = 0; i < uses.size(); ++i) {
    const auto known = uses[i].fresh ? role_of_.end() : role_of_.find(uses[i].run);
    const std::uint32_t slot = known == role_of_.end() ? kNone : slot_of_role_[known->second];
    if (slot != kNone && matched_[slot] == kNone) {
      matched_[slot] = i;
    } else {
      free_uses_.push_back(i);
    }
  }
  for (std::uint32_t slot = 0; slot < slots.size(); ++slot) {
    slot_of_role_[slots[slot].run] = kNone;
    if (matched_[slot] == kNone) free_slots_.push_back(slot);
  }
  std::ranges::stable_sort(free_uses_, {},
                           [&](std::uint32_t i) { return std::tuple(uses[i].fresh, uses[i].writes, uses[i].bytes); });
  std::ranges::stable_sort(free_slots_, {}, [&](std::uint32_t slot) {
    return std::tuple(slots[slot].fresh, slots[slot].writes, bytes_[slots[slot].run]);
  });
  for (std::size_t i = 0; i < free_slots_.size(); ++i) matched_[free_slots_[i]] = free_uses_[i];
  for (std::uint32_t slot = 0; slot < slots.size(); ++slot) {
    const Use& use = uses[matched_[slot]];
    role_of_[use.run] = slots[slot].run;
    bytes_[slots[slot].run] = use.bytes;
  }
  return matched_;
}

void RunRoles::begin_pass() {
  std::erase_if(role_of_, [this](const auto& known) { return begins_fresh_[known.second]; });
}

}  // namespace tessera
