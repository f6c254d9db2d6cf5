#include "api/oom_explainer.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "api/budgets.hpp"
#include "base/available_memory.hpp"
#include "tier/spill_file.hpp"

namespace tessera {
namespace {

OomFigures::Tier figures_of(const TierUsage& usage) { return {usage.capacity, usage.used}; }

OomFigures::FileState state_of(const FileTier& file, const Options& options) {
  using State = OomFigures::FileState;
  if (file.usage().capacity) {
    if (file.takes_writes()) return State::kServes;
    return file.is_spent() ? State::kSpent : State::kEnded;
  }
  if (options.file_memory == Bytes(0)) return State::kSizeZero;
  return options.file_memory || !options.file_dir.empty() ? State::kRefused : State::kNotAsked;
}

void add_what_is_left(OomFigures& figures, const Options& options) {
  figures.host_left = available_memory();
  if (!figures.file_tier.capacity) return;
  figures.disk_left = space_left(options);
  const Bytes each = figures.file_tier.capacity / std::max(spill_directories(options).size(), std::size_t{1});
  figures.file_limited = each + kBasePage > file_size_limit();
}

}  // namespace

Status OomExplainer::explain(Status status, DeviceHeap& heap, Bytes asked, OomFigures::Cause too_large) const {
  if (status.code() != Code::kOutOfMemory) return status;
  const ResidencyStats moves = heap.residency().figures().stats();
  OomFigures figures;
  if (asked > heap.tier().usage().capacity) figures.cause = too_large;
  figures.asked = asked;
  figures.device = heap.device();
  const TierUsage device = heap.tier().usage();
  figures.device_tier = figures_of(device);
  figures.elsewhere = heap.tier().limit() - device.capacity;
  if (heap.borrows()) figures.peer_tier = figures_of(lower_.peer_usage());
  figures.host_tier = figures_of(lower_.host_usage());
  figures.host_refused = !lower_.guards_all_work() && lower_.host().is_refused();
  figures.file_tier = figures_of(lower_.file().usage());
  figures.file = state_of(lower_.file(), options_);
  figures.file_trouble = lower_.file().trouble();
  figures.file_ended = figures.file_tier.capacity - std::min(figures.file_tier.capacity, lower_.file().reach());
  if (!simulated_) add_what_is_left(figures, options_);
  figures.pinned = moves.pinned_bytes;
  figures.exposed = moves.exposed_bytes;
  Bytes most;
  for (const auto& [reason, bytes] : heap.residency().figures().exposures()) {
    if (bytes <= most) continue;
    most = bytes;
    figures.exposed_by = reason;
  }
  figures.automatic = heap.residency().automatic().is_on();
  return Status(Code::kOutOfMemory, fmt::format("{}\n{}", status.message(), oom_message(figures)));
}

}  // namespace tessera
