#include "residency/residency_figures.hpp"

#include <algorithm>
#include <string_view>

#include "residency/pages/row.hpp"

namespace tessera {

ResidencyStats ResidencyFigures::stats() const {
  MutexLock lock(locked_.mutex);
  ResidencyStats stats = locked_.engine.stats;
  const UseCounts::Sum counts = locked_.counts.sum();
  stats.launches = counts.launches;
  stats.uses = counts.uses;
  stats.pinned_bytes = locked_.engine.pinned_bytes;
  for (const auto& run : locked_.engine.runs) {
    if (run->stays_for() != nullptr) stats.exposed_bytes += run->shape.bytes();
    stats.zero_copy_bytes += run->bytes_in(PageState::kZeroCopy);
    stats.reachable_bytes += run->bytes_in(PageState::kReachable);
  }
  return stats;
}

std::vector<CostlyRun> ResidencyFigures::costs() const {
  MutexLock lock(locked_.mutex);
  const auto gone = locked_.engine.stats.costliest.runs();
  std::vector<CostlyRun> costs(gone.begin(), gone.end());
  const auto add = [&costs](const Run& run) {
    if (run.cost.all_moved() || run.cost.stalls != 0) {
      costs.push_back({run.address, run.shape.bytes(), run.tag, false, run.cost});
    }
  };
  for (const auto& run : locked_.engine.runs) add(*run);
  for (const auto& row : locked_.engine.rows) add(*row);
  return costs;
}

ResidencyFigures::Progress ResidencyFigures::progress() const {
  MutexLock lock(locked_.mutex);
  return {locked_.counts.sum().launches, locked_.engine.stats.bytes_in};
}

Bytes ResidencyFigures::pinned_bytes() const {
  MutexLock lock(locked_.mutex);
  return locked_.engine.pinned_bytes;
}

Bytes ResidencyFigures::live_bytes() const {
  MutexLock lock(locked_.mutex);
  Bytes bytes;
  for (const auto& run : locked_.engine.runs) {
    if (!run->is_dead()) bytes += run->shape.bytes();
  }
  return bytes;
}

std::vector<std::pair<const char*, Bytes>> ResidencyFigures::exposures() const {
  MutexLock lock(locked_.mutex);
  std::vector<std::pair<const char*, Bytes>> sums;
  for (const auto& run : locked_.engine.runs) {
    if (run->stays_for() == nullptr) continue;
    auto sum = std::find_if(sums.begin(), sums.end(),
                            [&](const auto& s) { return std::string_view(s.first) == run->stays_for(); });
    if (sum == sums.end()) sum = sums.insert(sums.end(), {run->stays_for(), Bytes()});
    sum->second += run->shape.bytes();
  }
  return sums;
}

std::vector<BytesByTag::Sum> ResidencyFigures::bytes_by_tag() const {
  MutexLock lock(locked_.mutex);
  return locked_.moves.ledger.by_tag().sums();
}

std::array<Bytes, kLocations> ResidencyFigures::whereabouts(const Run& run) const {
  MutexLock lock(locked_.mutex);
  std::array<Bytes, kLocations> bytes;
  const auto count = [&bytes](const Page& page, Bytes size) {
    const Location nearest = page.device ? Location::kDevice
                             : page.peer ? Location::kPeer
                             : page.host ? Location::kHost
                             : page.file ? Location::kFile
                                         : Location::kNowhere;
    if (nearest != Location::kNowhere) bytes[index_of(nearest)] += size;
  };
  const auto count_all = [&count](const Run& part) {
    for (std::uint32_t i = 0; i < part.pages.size(); ++i) count(part.pages[i], page_bytes(part.shape.page_class(i)));
  };
  count_all(run);
  for (const Run* part : run.parts) count_all(*part);
  return bytes;
}

Status ResidencyFigures::validate() const {
  MutexLock lock(locked_.mutex);
  Bytes run_bytes, pinned_bytes, device_bytes;
  for (const auto& run : locked_.engine.runs) {
    TESSERA_TRY(validate_run(*run));
    run_bytes += run->shape.bytes();
    if (run->is_pinned()) pinned_bytes += run->shape.bytes();
    for (const Page& page : run->pages) {
      if (page.device) device_bytes += page.device->bytes();
    }
  }
  for (const auto& row : locked_.engine.rows) TESSERA_TRY(validate_row(*row));
  TESSERA_TRY(locked_.engine.by_trait.validate(locked_.engine.runs));
  TESSERA_TRY(locked_.moves.ledger.validate(locked_.engine.runs));
  TESSERA_TRY(locked_.transfers.in_flight.validate(locked_.engine.runs, locked_.moves.ledger));
  if (run_bytes != locked_.engine.stats.run_bytes) return Status(Code::kInternal, "run bytes do not add up");
  if (pinned_bytes != locked_.engine.pinned_bytes) return Status(Code::kInternal, "pinned bytes do not add up");
  const TierUsage device = locked_.tiers.device.usage();
  if (device_bytes + device.lost != device.used) {
    return Status(Code::kInternal, "a device frame in use belongs to no page");
  }
  TESSERA_TRY(locked_.tiers.device.validate());
  if (locked_.tiers.peer != nullptr) TESSERA_TRY(locked_.tiers.peer->validate());
  if (locked_.tiers.is_backed()) return locked_.tiers.backing->validate();
  if (locked_.tiers.zero_copy != nullptr) TESSERA_TRY(locked_.tiers.zero_copy->validate());
  TESSERA_TRY(locked_.tiers.host.validate());
  return locked_.tiers.file.validate();
}

}  // namespace tessera
