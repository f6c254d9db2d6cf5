#include "residency/pages/recompute.hpp"

#include <algorithm>

#include "residency/pages/run.hpp"

namespace tessera {
namespace {

thread_local std::uint32_t callbacks_entered = 0;

std::uint64_t own_thread() { return reinterpret_cast<std::uint64_t>(&callbacks_entered); }

}  // namespace

InsideCallback::InsideCallback() { ++callbacks_entered; }
InsideCallback::~InsideCallback() { --callbacks_entered; }

bool is_inside_callback() { return callbacks_entered != 0; }

bool RecomputeTurn::is_others() const { return depth_ != 0 && thread_ != own_thread(); }

void RecomputeTurn::take() {
  thread_ = own_thread();
  ++depth_;
}

bool RecomputeTurn::keeps_waiting(std::span<Run* const> runs) const {
  return is_others() && std::ranges::any_of(runs, [](const Run* run) { return run->awaits_recompute(); });
}

bool RecomputeTurn::may_wait() const { return callbacks_entered == 0 || is_mine(); }

bool RecomputeTurn::take_for(std::span<Run* const> runs) {
  const bool needed =
      std::ranges::any_of(runs, [](const Run* run) { return run->is_blank() && !run->being_recomputed; });
  if (needed) take();
  return needed;
}

}  // namespace tessera
