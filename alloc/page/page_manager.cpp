#include "page/page_manager.hpp"

#include <functional>
#include <string>

#include <fmt/core.h>

#include "base/check.hpp"
#include "base/log.hpp"

namespace tessera {
namespace {

Status broken(std::string what) { return Status(Code::kInternal, std::move(what)); }

// Whether a window is free or has base pages.
std::function<bool(std::uint64_t)> has_other_role(const AddressSpace& space, const RunPlaces& places) {
  return [&](std::uint64_t window) { return space.is_free(window) || places.domain_of(window) != nullptr; };
}

}  // namespace

Result<std::unique_ptr<PageManager>> PageManager::create(Driver& driver, Residency& residency, Bytes heap,
                                                         Bytes least) {
  TESSERA_TRY_ASSIGN(auto space, AddressSpace::reserve(driver, heap, least));
  TESSERA_TRY_ASSIGN(auto map, PageMap::create(space->low(), space->bytes()));
  return std::unique_ptr<PageManager>(new PageManager(residency, std::move(space), std::move(map)));
}

PageManager::PageManager(Residency& residency, std::unique_ptr<AddressSpace> space, std::unique_ptr<PageMap> map)
    : residency_(residency), space_(std::move(space)), map_(std::move(map)), places_(*space_), reserved_(*space_) {}

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
  const auto position = places_.take(shape, domain);
  if (!position) {
    return Status(Code::kOutOfMemory, fmt::format("no free range of {} bytes in {} bytes of addresses",
                                                  shape.bytes().value(), space_->bytes().value()));
  }
  auto added = residency_.runs().add(address_of(*position), shape, domain.tag, owner);
  if (!added.is_ok()) {
    places_.give(*position, shape, domain);
    return added.status();
  }
  Run* const run = added.value();
  runs_.emplace(*position, Placed{run, shape, domain, false});
  map_->set(run->address, base_pages_in(shape), run);
  stats_.in_runs += shape.bytes();
  ++stats_.runs;
  ++stats_.acquired;
  return run;
}

Status PageManager::release(Run* run) {
  const Address address = run->address;
  const RunShape shape = run->shape;
  const std::uint64_t position = position_of(address);
  {
    MutexLock lock(mutex_);
    DCHECK(runs_.contains(position));
    runs_.at(position).run = nullptr;
    map_->set(address, base_pages_in(shape), nullptr);
  }
  // Without the lock: both calls may wait long, and the run can no longer be found.
  readers_.wait_for_all();
  const Status removed = residency_.runs().remove(run);

  MutexLock lock(mutex_);
  const auto placed = runs_.find(position);
  if (removed.code() == Code::kBusy) {
    placed->second.run = run;
    map_->set(address, base_pages_in(shape), run);
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
  if (!placed->second.reserved) places_.give(position, shape, placed->second.domain);
  runs_.erase(placed);
  return Status::ok();
}

PageStats PageManager::stats() const {
  MutexLock lock(mutex_);
  PageStats stats = stats_;
  stats.heap = space_->bytes();
  stats.reserved = reserved_.bytes();
  stats.in_windows = kLargePage * (space_->windows() - space_->free_windows());
  return stats;
}

Result<Address> PageManager::reserve(Bytes bytes) {
  MutexLock lock(mutex_);
  return reserved_.add(bytes);
}

Status PageManager::unreserve(Address address) {
  Run* range = nullptr;
  {
    MutexLock lock(mutex_);
    const Reservation* const known = reserved_.with(address);
    if (known == nullptr || known->start != address) {
      return Status(Code::kNotFound, fmt::format("no addresses are reserved from {:#x} on", address.value()));
    }
    if (has_run(position_of(address), known->windows * kBasePerLarge)) {
      return Status(Code::kBusy, fmt::format("a block is in the addresses reserved from {:#x} on", address.value()));
    }
    range = known->range;
    if (range != nullptr) map_->set_range(known->start, known->windows, nullptr);
    reserved_.remove(*known);
  }
  if (range == nullptr) return Status::ok();
  readers_.wait_for_all();  // one may have found it
  residency_.ranges().remove(range);
  return Status::ok();
}

bool PageManager::is_reserved(Address address) const {
  MutexLock lock(mutex_);
  return reserved_.contain(address, kBasePage);
}

bool PageManager::has_run(std::uint64_t position, std::uint64_t pages) const {
  auto after = runs_.lower_bound(position + pages);
  if (after == runs_.begin()) return false;
  --after;
  return after->first + base_pages_in(after->second.shape) > position;
}

std::optional<std::pair<Address, Bytes>> PageManager::reservation_of(Address address) const {
  MutexLock lock(mutex_);
  const Reservation* const reservation = reserved_.with(address);
  if (reservation == nullptr) return std::nullopt;
  return std::pair(reservation->start, reservation->bytes);
}

// The position of this address, if all the bytes are in one reservation.
std::optional<std::uint64_t> PageManager::reserved_place(Address address, Bytes bytes) const {
  return reserved_.contain(address, bytes) ? std::optional(position_of(address)) : std::nullopt;
}

// The range that the run will be in; null where it fills the reservation.
Run* PageManager::range_for(Address address, const Run& run) {
  const Reservation& reservation = *reserved_.with(address);
  if (reservation.bytes == run.shape.bytes()) return nullptr;
  if (reservation.range == nullptr) {
    reserved_.set_range(reservation, residency_.ranges().add(reservation.start, run.tag));
    map_->set_range(reservation.start, reservation.windows, reservation.range);
  }
  return reservation.range;
}

Status PageManager::move(Run* run, std::optional<Address> to) {
  const std::uint64_t from = position_of(run->address);
  const RunShape shape = run->shape;
  const std::uint64_t pages = base_pages_in(shape);
  std::uint64_t place_at = 0;
  Run* range = nullptr;
  {
    MutexLock lock(mutex_);
    const Placed& placed = runs_.at(from);
    const auto found = to ? reserved_place(*to, shape.bytes()) : places_.take(shape, placed.domain);
    if (!found && !to) return Status(Code::kOutOfMemory, "no addresses are free for a block that is unmapped");
    if (!found || (to && has_run(*found, pages))) {
      return Status(Code::kInvalidArgument, fmt::format("a block cannot be moved to {:#x}", to->value()));
    }
    place_at = *found;
    if (to) range = range_for(*to, *run);
    runs_.emplace(place_at, Placed{nullptr, shape, placed.domain, to.has_value()});
    runs_.at(from).run = nullptr;
    map_->set(run->address, pages, nullptr);
  }
  // As in release(): both calls may wait long.
  readers_.wait_for_all();
  Status moved = residency_.runs().rehome(run, address_of(place_at), range);
  MutexLock lock(mutex_);
  settle_move(from, place_at, moved.is_ok());
  runs_.at(moved.is_ok() ? place_at : from).run = run;
  map_->set(run->address, pages, run);
  return moved;
}

// Frees the place that the run is not in.
void PageManager::settle_move(std::uint64_t from, std::uint64_t to, bool moved) {
  const auto left = runs_.find(moved ? from : to);
  const Placed placed = left->second;
  runs_.erase(left);
  if (!placed.reserved) places_.give(moved ? from : to, placed.shape, placed.domain);
}

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
  TESSERA_TRY(places_.validate([this](std::uint64_t page) { return map_->find(address_of(page)) != nullptr; }));
  TESSERA_TRY(reserved_.validate(has_other_role(*space_, places_)));
  TESSERA_TRY(validate_reserved());
  return validate_windows();
}

// The map has every page of the run, and the tail is in windows of the run's domain.
Status PageManager::validate_run(std::uint64_t position, const Placed& placed) const {
  const std::uint64_t large = placed.shape.large * kBasePerLarge;
  for (std::uint64_t i = 0; i < large + placed.shape.tail(); ++i) {
    if (map_->find(address_of(position + i)) != placed.run) {
      return broken(fmt::format("base page {} of the run at {:#x} belongs to another run in the map", i,
                                address_of(position).value()));
    }
    if (i < large || placed.reserved) continue;
    const Domain* const domain = places_.domain_of((position + i) / kBasePerLarge);
    if (domain == nullptr || *domain != placed.domain) {
      return broken(
          fmt::format("the run at {:#x} has a page in a window of another domain", address_of(position).value()));
    }
  }
  if (placed.run && placed.run->shape != placed.shape) {
    return broken(fmt::format("the run at {:#x} changed its shape", address_of(position).value()));
  }
  return Status::ok();
}

// Runs that were moved to reserved addresses lie within one reservation, side by side.
Status PageManager::validate_reserved() const {
  std::uint64_t end = 0;
  for (const auto& [position, placed] : runs_) {
    if (position < end) return broken(fmt::format("two runs at {:#x}", address_of(position).value()));
    end = position + placed.shape.bytes() / kBasePage;
    if (placed.reserved && !reserved_.contain(address_of(position), placed.shape.bytes())) {
      return broken(fmt::format("the run at {:#x} is not where addresses are reserved", address_of(position).value()));
    }
    if (placed.run == nullptr) continue;
    const Reservation* const in = placed.reserved ? reserved_.with(address_of(position)) : nullptr;
    const bool fills = in == nullptr || in->bytes == placed.shape.bytes();
    if (placed.run->row != (fills ? nullptr : in->range)) {
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
    pages += placed.shape.tail();
    for (std::uint64_t i = 0; i < placed.shape.large; ++i) {
      const std::uint64_t window = position / kBasePerLarge + i;
      if (space_->is_free(window) || places_.domain_of(window) != nullptr) {
        return broken(fmt::format("window {} is a large page and also something else", window));
      }
    }
  }
  pages += places_.free_pages();
  const std::uint64_t reserved = reserved_.bytes() / kLargePage;
  const std::uint64_t used = large_windows + places_.base_windows() + reserved;
  if (used + space_->free_windows() != space_->windows()) {
    return broken(fmt::format("{} windows used and {} free of {}", used, space_->free_windows(), space_->windows()));
  }
  if (pages != places_.base_windows() * kBasePerLarge) {
    return broken(fmt::format("{} base pages free or in runs, in {} base windows", pages, places_.base_windows()));
  }
  return Status::ok();
}

}  // namespace tessera
