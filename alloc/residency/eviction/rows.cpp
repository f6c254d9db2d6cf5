#include "residency/eviction/rows.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace tessera {

bool Rows::can_be_row(const Run& run) const {
  return run.shape.bytes() >= kLeastRow && !run.is_row.load() && run.row == nullptr && !run.recompute;
}

// The pages keep what is in flight for them, so nothing is waited for; launches read only what the row still has.
void Rows::make(Run& run) {
  std::unique_ptr<Run> row = take_out(run);
  row->pages_with = {};
  for (auto& part : make_row(run)) {
    part->index = engine_.runs.size();
    for (Page& page : part->pages) engine_.by_trait.note(*part, page);
    engine_.runs.push_back(std::move(part));
  }
  engine_.rows.push_back(std::move(row));
  transfers_.follow_row(run);
}

// Host-backed pages have to be there from the start, for work that is not announced.
bool Rows::is_too_large(const Run& run) {
  if (!can_be_row(run) || engine_.tiers.is_backed()) return false;
  const auto fits = [&] {
    const Bytes device = engine_.tiers.device.usage().capacity;
    return run.shape.bytes() <= device - std::min(device, engine_.pinned_bytes);
  };
  if (fits()) return false;
  engine_.tiers.device.regain(DeviceTier::Ask::kNow);
  return !fits();
}

Result<std::unique_ptr<const Extents>> Rows::set_extents(Run& run, std::optional<Extents> extents) {
  if (extents && can_be_row(run)) make(run);
  if (!run.is_row.load()) return std::unique_ptr<const Extents>();
  const Gate::Closed closed(engine_.gate);
  if (!closed.is_closed()) return Status(Code::kBusy, std::string(closed.status().message()));
  const bool is_cut = extents.has_value();
  std::unique_ptr<const Extents> next = is_cut ? std::make_unique<const Extents>(std::move(*extents)) : nullptr;
  if (!is_cut) run.is_cut.store(false);  // before there are none
  std::unique_ptr<const Extents> before(run.extents.exchange(next.release()));
  if (is_cut) run.is_cut.store(true);
  return before;
}

Status Rows::remove(Run& run) {
  run.quiet = run.last_work();
  run.live.store(0);
  run.owner = {};
  run.prefetch_requested = false;
  Status result = transfers_.take_back(run);
  for (const Page& page : run.pages) {
    if (page.device) engine_.tiers.device.write_off(*page.device);
  }
  transfers_.forget(run);
  moves_.forget(run);
  take_out(run);
  return result;
}

std::unique_ptr<Run> Rows::take_out(Run& run) {
  const std::size_t index = run.index;
  engine_.by_trait.remove(index, engine_.runs.size() - 1);
  std::swap(engine_.runs[index], engine_.runs.back());
  engine_.runs[index]->index = index;
  std::unique_ptr<Run> taken = std::move(engine_.runs.back());
  engine_.runs.pop_back();
  return taken;
}

}  // namespace tessera
