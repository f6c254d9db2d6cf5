// The invariants of page_manager.hpp as code.
#include <fmt/format.h>

#include "page/page_manager.hpp"

namespace tessera {
namespace {

Status broken(std::string what) { return Status(Code::kInternal, std::move(what)); }

}  // namespace

Status PageManager::validate() const {
  MutexLock lock(mutex_);
  TESSERA_TRY(space_->validate());
  Bytes bytes;
  for (const auto& [position, placed] : runs_) {
    TESSERA_TRY(validate_run(position, placed));
    bytes += placed.shape.bytes();
  }
  if (bytes != stats_.in_runs + stats_.lost) {
    return broken(fmt::format("{} bytes in runs, but {} and {} lost counted", bytes.value(), stats_.in_runs.value(),
                              stats_.lost.value()));
  }
  for (const auto& [domain, home] : homes_) TESSERA_TRY(validate_free(domain, home));
  TESSERA_TRY(validate_reserved());
  return validate_windows();
}

// The map has every page of the run, and the tail is in windows of the run's domain.
Status PageManager::validate_run(std::uint64_t position, const Placed& placed) const {
  const std::uint64_t large = placed.shape.large * kBasePerLarge;
  for (std::uint64_t i = 0; i < large + placed.shape.base; ++i) {
    if (map_->find(address_of(position + i)) != placed.run) {
      return broken(fmt::format("base page {} of the run at {:#x} belongs to another run in the map", i,
                                address_of(position).value()));
    }
    if (i < large || placed.reserved) continue;
    const auto window = base_windows_.find((position + i) / kBasePerLarge);
    if (window == base_windows_.end() || window->second != placed.domain) {
      return broken(
          fmt::format("the run at {:#x} has a page in a window of another domain", address_of(position).value()));
    }
  }
  if (placed.run && placed.run->shape != placed.shape) {
    return broken(fmt::format("the run at {:#x} changed its shape", address_of(position).value()));
  }
  return Status::ok();
}

// Free pages are in windows of their domain, in no run, and fill no window.
Status PageManager::validate_free(const Domain& domain, const Home& home) const {
  TESSERA_TRY(home.free.validate());
  std::uint64_t windows = 0;
  std::uint64_t free = 0;
  for (const auto& [window, owner] : base_windows_) {
    if (owner != domain) continue;
    ++windows;
    std::uint64_t free_here = 0;
    for (std::uint64_t page = window * kBasePerLarge; page < (window + 1) * kBasePerLarge; ++page) {
      const bool is_free = home.free.extent_at(page).has_value();
      if (is_free && map_->find(address_of(page))) {
        return broken(fmt::format("base page {} is both free and in a run", page));
      }
      free_here += is_free ? 1 : 0;
    }
    if (free_here == kBasePerLarge) return broken(fmt::format("window {} is wholly free", window));
    free += free_here;
  }
  if (free != home.free.free_count() || windows != home.windows) {
    return broken(fmt::format("{} free pages in {} windows of a domain, but {} in {} counted", free, windows,
                              home.free.free_count(), home.windows));
  }
  return Status::ok();
}

// Reserved windows have no other role, and runs moved there lie within one reservation, side by side.
Status PageManager::validate_reserved() const {
  Bytes bytes;
  for (const auto& [first, reserved] : reserved_) {
    bytes += kLargePage * reserved.windows;
    for (std::uint64_t window = first; window < first + reserved.windows; ++window) {
      if (space_->is_free(window) || base_windows_.contains(window)) {
        return broken(fmt::format("window {} is reserved and also something else", window));
      }
    }
  }
  if (bytes != stats_.reserved) return broken("the reserved bytes do not add up");
  std::uint64_t end = 0;
  for (const auto& [position, placed] : runs_) {
    if (position < end) return broken(fmt::format("two runs at {:#x}", address_of(position).value()));
    end = position + placed.shape.bytes() / kBasePage;
    if (placed.reserved && !reserved_place(address_of(position), placed.shape.bytes())) {
      return broken(fmt::format("the run at {:#x} is not where addresses are reserved", address_of(position).value()));
    }
    if (placed.run == nullptr) continue;
    const auto range = placed.reserved ? reservation_with(address_of(position)) : reserved_.end();
    const bool fills = range == reserved_.end() || range->second.bytes == placed.shape.bytes();
    if (placed.run->row != (fills ? nullptr : range->second.range)) {
      return broken(fmt::format("the run at {:#x} is in another range", address_of(position).value()));
    }
  }
  return Status::ok();
}

// Every window has exactly one role, and so has every page of a base window.
Status PageManager::validate_windows() const {
  std::uint64_t large_windows = 0;
  std::uint64_t pages = 0;
  for (const auto& [position, placed] : runs_) {
    if (placed.reserved) continue;  // validate_reserved()
    large_windows += placed.shape.large;
    pages += placed.shape.base;
    for (std::uint64_t i = 0; i < placed.shape.large; ++i) {
      const std::uint64_t window = position / kBasePerLarge + i;
      if (space_->is_free(window) || base_windows_.contains(window)) {
        return broken(fmt::format("window {} is a large page and also something else", window));
      }
    }
  }
  for (const auto& [domain, home] : homes_) pages += home.free.free_count();
  for (const auto& [window, domain] : base_windows_) {
    if (space_->is_free(window)) return broken(fmt::format("base window {} is free", window));
  }
  std::uint64_t reserved = 0;
  for (const auto& [first, range] : reserved_) reserved += range.windows;
  const std::uint64_t used = large_windows + base_windows_.size() + reserved;
  if (used + space_->free_windows() != space_->windows()) {
    return broken(fmt::format("{} windows used and {} free of {}", used, space_->free_windows(), space_->windows()));
  }
  if (pages != base_windows_.size() * kBasePerLarge) {
    return broken(fmt::format("{} base pages free or in runs, in {} base windows", pages, base_windows_.size()));
  }
  return Status::ok();
}

}  // namespace tessera
