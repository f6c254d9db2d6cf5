// Addresses that the program reserves, and runs that are moved there and back; declared in page_manager.hpp.
#include <fmt/format.h>

#include "base/check.hpp"
#include "page/page_manager.hpp"

namespace tessera {
namespace {

// Of the range: blocks need addresses too.
constexpr std::uint64_t kReservablePart = 2;

constexpr std::uint64_t base_pages_of(RunShape shape) { return shape.bytes() / kBasePage; }

}  // namespace

Result<Address> PageManager::reserve(Bytes bytes) {
  if (!bytes) return Status(Code::kInvalidArgument, "a reservation of 0 bytes");
  const std::uint64_t windows = round_up(std::min(bytes, space_->bytes()), kLargePage) / kLargePage;
  MutexLock lock(mutex_);
  const bool too_much =
      bytes > space_->bytes() || stats_.reserved + kLargePage * windows > space_->bytes() / kReservablePart;
  const auto first = too_much ? std::nullopt : space_->take(windows);
  if (!first) {
    return Status(Code::kOutOfMemory, fmt::format("no {} bytes of addresses to reserve: {} of {} are reserved",
                                                  bytes.value(), stats_.reserved.value(), space_->bytes().value()));
  }
  reserved_.emplace(*first, Reserved{windows, bytes});
  stats_.reserved += kLargePage * windows;
  return address_of(*first * kBasePerLarge);
}

Status PageManager::unreserve(Address address) {
  Run* range = nullptr;
  {
    MutexLock lock(mutex_);
    const auto known = reservation_with(address);
    if (known == reserved_.end() || address_of(known->first * kBasePerLarge) != address) {
      return Status(Code::kNotFound, fmt::format("no addresses are reserved from {:#x} on", address.value()));
    }
    const auto [first, reserved] = *known;
    if (has_run(first * kBasePerLarge, reserved.windows * kBasePerLarge)) {
      return Status(Code::kBusy, fmt::format("a block is in the addresses reserved from {:#x} on", address.value()));
    }
    range = reserved.range;
    reserved_.erase(known);
    space_->give(first, reserved.windows);
    stats_.reserved -= kLargePage * reserved.windows;
  }
  if (range == nullptr) return Status::ok();
  readers_.wait_for_all();  // one may have found it by a run that was there
  residency_.ranges().remove(range);
  return Status::ok();
}

bool PageManager::is_reserved(Address address) const {
  MutexLock lock(mutex_);
  return reserved_place(address, kBasePage).has_value();
}

bool PageManager::has_run(std::uint64_t position, std::uint64_t pages) const {
  auto after = runs_.lower_bound(position + pages);
  if (after == runs_.begin()) return false;
  --after;
  return after->first + base_pages_of(after->second.shape) > position;
}

PageManager::Reservations::const_iterator PageManager::reservation_with(Address address) const {
  if (address < low() || address >= high()) return reserved_.end();
  auto range = reserved_.upper_bound((address - low()) / kLargePage);
  if (range == reserved_.begin()) return reserved_.end();
  --range;
  const Address start = address_of(range->first * kBasePerLarge);
  return address - start < kLargePage * range->second.windows ? range : reserved_.end();
}

std::optional<std::pair<Address, Bytes>> PageManager::reservation_of(Address address) const {
  MutexLock lock(mutex_);
  const auto range = reservation_with(address);
  if (range == reserved_.end()) return std::nullopt;
  return std::pair(address_of(range->first * kBasePerLarge), range->second.bytes);
}

// The position of this address, if all the bytes are in one reservation.
std::optional<std::uint64_t> PageManager::reserved_place(Address address, Bytes bytes) const {
  const auto range = reservation_with(address);
  if (range == reserved_.end() || address.value() % kBasePage.value() != 0) return std::nullopt;
  const Address start = address_of(range->first * kBasePerLarge);
  if ((address - start) + bytes > kLargePage * range->second.windows) return std::nullopt;
  return position_of(address);
}

// The range that the run will be in; null where it fills the reservation.
Run* PageManager::range_for(Address address, const Run& run) {
  const std::uint64_t first = reservation_with(address)->first;
  Reserved& reserved = reserved_.at(first);
  if (reserved.bytes == run.shape.bytes()) return nullptr;
  if (reserved.range == nullptr) {
    reserved.range = residency_.ranges().add(address_of(first * kBasePerLarge), run.tag);
  }
  return reserved.range;
}

Status PageManager::move(Run* run, std::optional<Address> to) {
  const std::uint64_t from = position_of(run->address);
  const RunShape shape = run->shape;
  const std::uint64_t pages = base_pages_of(shape);
  std::uint64_t place_at = 0;
  Run* range = nullptr;
  {
    MutexLock lock(mutex_);
    const Placed& placed = runs_.at(from);
    const auto found = to ? reserved_place(*to, shape.bytes()) : place(shape, placed.domain);
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
  if (!placed.reserved) take_back(moved ? from : to, placed.shape, placed.domain);
}

}  // namespace tessera
