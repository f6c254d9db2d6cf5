#include "page/run_places.hpp"

#include <fmt/core.h>

namespace tessera {

std::optional<std::uint64_t> RunPlaces::take(RunShape shape, const Domain& domain) {
  if (shape.large == 0) return take_base(shape.tail(), domain);
  const std::uint64_t windows = shape.large + (shape.tail() > 0 ? 1u : 0u);
  const auto first = space_.take(windows);
  if (!first) return std::nullopt;
  const std::uint64_t position = *first * kBasePerLarge;
  if (shape.tail() > 0) {
    const std::uint64_t tail = *first + shape.large;
    adopt_window(tail, domain);
    homes_[domain].free.take_exactly(tail * kBasePerLarge, shape.tail());
  }
  return position;
}

std::optional<std::uint64_t> RunPlaces::take_base(std::uint64_t pages, const Domain& domain) {
  if (const auto home = homes_.find(domain); home != homes_.end()) {
    if (const auto found = home->second.free.take(pages)) return found;
  }
  const auto window = space_.take(1);
  if (!window) return std::nullopt;
  adopt_window(*window, domain);
  return homes_[domain].free.take(pages);
}

void RunPlaces::give(std::uint64_t position, RunShape shape, const Domain& domain) {
  const std::uint64_t first_window = position / kBasePerLarge;
  if (shape.large > 0) space_.give(first_window, shape.large);
  if (shape.tail() == 0) return;
  const std::uint64_t tail = position + shape.large * kBasePerLarge;
  homes_.at(domain).free.give(tail, shape.tail());
  // Base pages may cross the border between two windows of the domain.
  const std::uint64_t window = tail / kBasePerLarge;
  const std::uint64_t last = (tail + shape.tail() - 1) / kBasePerLarge;
  return_window_if_free(window, domain);
  if (last != window) return_window_if_free(last, domain);
}

void RunPlaces::adopt_window(std::uint64_t window, const Domain& domain) {
  Home& home = homes_[domain];
  home.free.give(window * kBasePerLarge, kBasePerLarge);
  ++home.windows;
  windows_.emplace(window, domain);
}

void RunPlaces::return_window_if_free(std::uint64_t window, const Domain& domain) {
  const auto home = homes_.find(domain);
  if (home == homes_.end()) return;
  if (!home->second.free.take_exactly(window * kBasePerLarge, kBasePerLarge)) return;
  windows_.erase(window);
  space_.give(window, 1);
  if (--home->second.windows == 0) homes_.erase(home);
}

const Domain* RunPlaces::domain_of(std::uint64_t window) const {
  const auto known = windows_.find(window);
  return known == windows_.end() ? nullptr : &known->second;
}

std::uint64_t RunPlaces::free_pages() const {
  std::uint64_t pages = 0;
  for (const auto& [domain, home] : homes_) pages += home.free.free_count();
  return pages;
}

Status RunPlaces::validate(const std::function<bool(std::uint64_t)>& has_run) const {
  for (const auto& [window, domain] : windows_) {
    if (space_.is_free(window)) return Status(Code::kInternal, fmt::format("base window {} is free", window));
  }
  for (const auto& [domain, home] : homes_) TESSERA_TRY(validate_home(domain, home, has_run));
  return Status::ok();
}

// Free pages are in windows of their domain, in no run, and fill no window.
Status RunPlaces::validate_home(const Domain& domain, const Home& home,
                                const std::function<bool(std::uint64_t)>& has_run) const {
  TESSERA_TRY(home.free.validate());
  std::uint64_t windows = 0;
  std::uint64_t free = 0;
  for (const auto& [window, owner] : windows_) {
    if (owner != domain) continue;
    ++windows;
    std::uint64_t free_here = 0;
    for (std::uint64_t page = window * kBasePerLarge; page < (window + 1) * kBasePerLarge; ++page) {
      const bool is_free = home.free.extent_at(page).has_value();
      if (is_free && has_run(page)) {
        return Status(Code::kInternal, fmt::format("base page {} is both free and in a run", page));
      }
      free_here += is_free ? 1 : 0;
    }
    if (free_here == kBasePerLarge) return Status(Code::kInternal, fmt::format("window {} is wholly free", window));
    free += free_here;
  }
  if (free != home.free.free_count() || windows != home.windows) {
    return Status(Code::kInternal, fmt::format("{} free pages in {} windows of a domain, but {} in {} counted", free,
                                               windows, home.free.free_count(), home.windows));
  }
  return Status::ok();
}

}  // namespace tessera
