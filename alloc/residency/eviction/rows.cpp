#include "residency/eviction/rows.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/log.hpp"

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
  moves_.copies.follow_row(run);
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
  run.stays_whole.store(false);
  if (LiveExtents* const live = run.live_extents.exchange(nullptr)) {
    for (const Run* const part : run.parts) live->clear(part->address, part->shape.bytes());
  }
  const bool is_cut = extents.has_value();
  std::unique_ptr<const Extents> next = is_cut ? std::make_unique<const Extents>(std::move(*extents)) : nullptr;
  if (!is_cut) run.is_cut.store(false);  // before there are none
  std::unique_ptr<const Extents> before(run.extents.exchange(next.release()));
  if (is_cut) run.is_cut.store(true);
  return before;
}

Result<std::unique_ptr<const Extents>> Rows::follow(Run& run, LiveExtents& live) {
  if (can_be_row(run)) make(run);
  if (!run.is_row.load() || run.stays_whole.load()) return std::unique_ptr<const Extents>();
  const Gate::Closed closed(engine_.gate);
  if (!closed.is_closed()) return Status(Code::kBusy, std::string(closed.status().message()));
  run.live_extents.store(&live);
  std::unique_ptr<const Extents> before(run.extents.exchange(nullptr));
  run.is_cut.store(true);
  return before;
}

// What the extents were stays where it is: a launch may be reading it.
void Rows::keep_whole(Run& run) {
  if (can_be_row(run)) make(run);  // what its uses mean is known of rows, until their blocks end
  if (!run.is_row.load()) return;
  run.stays_whole.store(true);
  run.is_cut.store(false);
}

Run& Rows::add_range(Address address, TagId tag) {
  engine_.rows.push_back(make_range(address, tag));
  return *engine_.rows.back();
}

// A launch may have found it in the page map, and a call may hold it, for a word that only looks like an address there.
void Rows::remove_range(Run& range) {
  ended_ranges_.push_back(&range);
  const Gate::Closed closed(engine_.gate);
  if (!closed.is_closed()) return;
  std::erase_if(ended_ranges_, [this](const Run* ended) {
    if (ended->holds.load() != 0) return false;
    std::erase_if(engine_.rows, [ended](const auto& row) { return row.get() == ended; });
    return true;
  });
}

// A pinned range pins what is mapped there. REQUIRES: the gate is closed.
void Rows::move_to_range(Run* range, Run& run) {
  if (run.row != nullptr) {
    if (run.row->pins.load() != 0) engine_.pinned_bytes -= run.shape.bytes();
    tessera::leave_range(run);
  }
  if (range == nullptr) return;
  join_range(*range, run);
  if (range->pins.load() != 0) engine_.pinned_bytes += run.shape.bytes();
}

// After an error, the parts that have moved move back.
Status Rows::rehome_row(Run& row, Address to) {
  const Address from = row.address;
  std::size_t moved = 0;
  const auto move = [&](Run& part, Address base, Address target) {
    TESSERA_TRY(moves_.rehome(part, target + (part.address - base)));
    part.name = part.address.value() + 1;
    return Status();
  };
  Status status;
  while (status.is_ok() && moved < row.parts.size()) {
    status = move(*row.parts[moved], from, to);
    moved += status.is_ok() ? 1 : 0;
  }
  if (status.is_ok()) {
    row.address = to;
    row.name = to.value();
    return status;
  }
  for (std::size_t i = 0; i < moved; ++i) {
    const Status undone = move(*row.parts[i], to, from);
    if (!undone.is_ok()) log_line(LogLevel::kError, "part of a block is at another address: {}", undone.to_string());
  }
  return status;
}

Status Rows::rehome(Run& run, Address to, Run* range) {
  if (run.is_row.load()) {
    return range == nullptr ? rehome_row(run, to) : Status(Code::kNotSupported, "a row of runs cannot be in a range");
  }
  Run* const before = run.row;
  if (before == nullptr && range == nullptr) return moves_.rehome(run, to);
  const Gate::Closed closed(engine_.gate);
  if (!closed.is_closed()) return Status(Code::kBusy, std::string(closed.status().message()));
  move_to_range(nullptr, run);
  Status moved = moves_.rehome(run, to);
  move_to_range(moved.is_ok() ? range : before, run);
  if (before != nullptr && before->parts.empty()) clear_range(*before);
  return moved;
}

Status Rows::leave_range(Run& run) {
  if (run.row == nullptr) return {};
  const Gate::Closed closed(engine_.gate);
  if (!closed.is_closed()) return Status(Code::kBusy, std::string(closed.status().message()));
  Run& range = *run.row;
  move_to_range(nullptr, run);
  if (range.parts.empty()) clear_range(range);
  return {};
}

Status Rows::remove(Run& run) {
  run.quiet = run.last_work();
  run.live.store(0);
  run.owner = {};
  run.prefetch.requested = false;
  Status result = transfers_.releases.take_back(run);
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
