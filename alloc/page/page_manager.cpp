#include "page/page_manager.hpp"

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/log.hpp"

namespace tessera {
namespace {

constexpr std::uint64_t base_pages(RunShape shape) { return shape.bytes() / kBasePage; }

}  // namespace

Result<std::unique_ptr<PageManager>> PageManager::create(Driver& driver, Residency& residency, Bytes heap,
                                                         Bytes least) {
  TESSERA_TRY_ASSIGN(auto space, AddressSpace::reserve(driver, heap, least));
  TESSERA_TRY_ASSIGN(auto map, PageMap::create(space->low(), space->bytes()));
  return std::unique_ptr<PageManager>(new PageManager(residency, std::move(space), std::move(map)));
}

PageManager::PageManager(Residency& residency, std::unique_ptr<AddressSpace> space, std::unique_ptr<PageMap> map)
    : residency_(residency), space_(std::move(space)), map_(std::move(map)) {}

PageManager::~PageManager() {
  MutexLock lock(mutex_);
  for (const auto& [position, placed] : runs_) {
    if (!placed.run) continue;
    const Status removed = residency_.runs().remove(placed.run);
    if (!removed.is_ok()) {
      log_line(LogLevel::kWarning, "a run could not be removed: {}", removed.to_string());
    }
  }
}

Result<Run*> PageManager::acquire(Bytes bytes, Domain domain, RunOwner owner) {
  if (!bytes) return Status(Code::kInvalidArgument, "a run of 0 bytes");
  if (bytes > space_->bytes()) {
    return Status(Code::kOutOfMemory,
                  fmt::format("{} bytes exceed the {} bytes of addresses", bytes.value(), space_->bytes().value()));
  }
  const RunShape shape = shape_for(bytes);
  MutexLock lock(mutex_);
  const auto position = place(shape, domain);
  if (!position) {
    return Status(Code::kOutOfMemory, fmt::format("no free range of {} bytes in {} bytes of addresses",
                                                  shape.bytes().value(), space_->bytes().value()));
  }
  auto added = residency_.runs().add(address_of(*position), shape, domain.tag, owner);
  if (!added.is_ok()) {
    take_back(*position, shape, domain);
    return added.status();
  }
  Run* const run = added.value();
  runs_.emplace(*position, Placed{run, shape, domain, false});
  map_->set(run->address, base_pages(shape), run);
  stats_.in_runs += shape.bytes();
  ++stats_.runs;
  ++stats_.acquired;
  return run;
}

Status PageManager::release(Run* run) {
  const Address address = run->address;
  const RunShape shape = run->shape;
  const std::uint64_t position = (address - low()) / kBasePage;
  {
    MutexLock lock(mutex_);
    DCHECK(runs_.contains(position));
    runs_.at(position).run = nullptr;
    map_->set(address, base_pages(shape), nullptr);
  }
  // Without the lock: both calls may wait long, and the run can no longer be found.
  readers_.wait_for_all();
  const Status removed = residency_.runs().remove(run);

  MutexLock lock(mutex_);
  const auto placed = runs_.find(position);
  if (removed.code() == Code::kBusy) {
    placed->second.run = run;
    map_->set(address, base_pages(shape), run);
    return removed;
  }
  --stats_.runs;
  ++stats_.released;
  stats_.in_runs -= shape.bytes();
  if (!removed.is_ok()) {
    // Something may still be mapped there, so these addresses are not reused.
    stats_.lost += shape.bytes();
    return removed;
  }
  if (!placed->second.reserved) take_back(position, shape, placed->second.domain);
  runs_.erase(placed);
  return Status::ok();
}

PageStats PageManager::stats() const {
  MutexLock lock(mutex_);
  PageStats stats = stats_;
  stats.heap = space_->bytes();
  stats.in_windows = kLargePage * (space_->windows() - space_->free_windows());
  return stats;
}

std::optional<std::uint64_t> PageManager::place(RunShape shape, const Domain& domain) {
  if (shape.large == 0) return place_base(shape.base, domain);
  const std::uint64_t windows = shape.large + (shape.base > 0 ? 1u : 0u);
  const auto first = space_->take(windows);
  if (!first) return std::nullopt;
  const std::uint64_t position = *first * kBasePerLarge;
  if (shape.base > 0) {
    const std::uint64_t tail = *first + shape.large;
    adopt_window(tail, domain);
    homes_[domain].free.take_exactly(tail * kBasePerLarge, shape.base);
  }
  return position;
}

std::optional<std::uint64_t> PageManager::place_base(std::uint64_t pages, const Domain& domain) {
  if (const auto home = homes_.find(domain); home != homes_.end()) {
    if (const auto found = home->second.free.take(pages)) return found;
  }
  const auto window = space_->take(1);
  if (!window) return std::nullopt;
  adopt_window(*window, domain);
  return homes_[domain].free.take(pages);
}

void PageManager::take_back(std::uint64_t position, RunShape shape, const Domain& domain) {
  const std::uint64_t first_window = position / kBasePerLarge;
  if (shape.large > 0) space_->give(first_window, shape.large);
  if (shape.base == 0) return;
  const std::uint64_t tail = position + shape.large * kBasePerLarge;
  homes_.at(domain).free.give(tail, shape.base);
  // Base pages may cross the border between two windows of the domain.
  const std::uint64_t window = tail / kBasePerLarge;
  const std::uint64_t last = (tail + shape.base - 1) / kBasePerLarge;
  return_window_if_free(window, domain);
  if (last != window) return_window_if_free(last, domain);
}

void PageManager::adopt_window(std::uint64_t window, const Domain& domain) {
  Home& home = homes_[domain];
  home.free.give(window * kBasePerLarge, kBasePerLarge);
  ++home.windows;
  base_windows_.emplace(window, domain);
}

void PageManager::return_window_if_free(std::uint64_t window, const Domain& domain) {
  const auto home = homes_.find(domain);
  if (home == homes_.end()) return;
  if (!home->second.free.take_exactly(window * kBasePerLarge, kBasePerLarge)) return;
  base_windows_.erase(window);
  space_->give(window, 1);
  if (--home->second.windows == 0) homes_.erase(home);
}

}  // namespace tessera
