#include "page/reservations.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/core.h>

namespace tessera {
namespace {

// Of the range: blocks need addresses too.
constexpr std::uint64_t kReservablePart = 2;

}  // namespace

Result<Address> Reservations::add(Bytes bytes) {
  if (!bytes) return Status(Code::kInvalidArgument, "a reservation of 0 bytes");
  const std::uint64_t windows = round_up(std::min(bytes, space_.bytes()), kLargePage) / kLargePage;
  const bool too_much = bytes > space_.bytes() || bytes_ + kLargePage * windows > space_.bytes() / kReservablePart;
  const auto first = too_much ? std::nullopt : space_.take(windows);
  if (!first) {
    return Status(Code::kOutOfMemory, fmt::format("no {} bytes of addresses to reserve: {} of {} are reserved",
                                                  bytes.value(), bytes_.value(), space_.bytes().value()));
  }
  const Address start = space_.low() + kLargePage * *first;
  all_.emplace(start, Reservation{.start = start, .windows = windows, .bytes = bytes});
  bytes_ += kLargePage * windows;
  return start;
}

void Reservations::remove(const Reservation& reservation) {
  space_.give(window_of(reservation.start), reservation.windows);
  bytes_ -= reservation.extent();
  all_.erase(reservation.start);
}

const Reservation* Reservations::with(Address address) const {
  const auto behind = all_.upper_bound(address);
  if (behind == all_.begin()) return nullptr;
  const Reservation& before = std::prev(behind)->second;
  return address - before.start < before.extent() ? &before : nullptr;
}

bool Reservations::contain(Address address, Bytes bytes) const {
  const Reservation* const reservation = with(address);
  if (reservation == nullptr || address.value() % kBasePage.value() != 0) return false;
  return (address - reservation->start) + bytes <= reservation->extent();
}

Status Reservations::validate(const std::function<bool(std::uint64_t)>& is_used) const {
  Bytes bytes;
  for (const auto& [start, reservation] : all_) {
    bytes += reservation.extent();
    const std::uint64_t first = window_of(start);
    for (std::uint64_t window = first; window < first + reservation.windows; ++window) {
      if (!is_used(window)) continue;
      return Status(Code::kInternal, fmt::format("window {} is reserved and also something else", window));
    }
  }
  return bytes == bytes_ ? Status() : Status(Code::kInternal, "the reserved bytes do not add up");
}

}  // namespace tessera
