// The addresses that the program has reserved to map memory there itself, as whole windows.
//
// Thread safety: none; the page manager's lock. Invariants: reservations are disjoint, and their windows are taken from
// the address space.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "page/address_space.hpp"
#include "residency/residency.hpp"

namespace tessera {

struct Reservation {
  Address start;
  std::uint64_t windows = 0;
  Bytes bytes;           // as asked for
  Run* range = nullptr;  // the range of the runs there, once one did not fill it (residency/pages/row.hpp)

  Bytes extent() const { return kLargePage * windows; }
};

class Reservations {
 public:
  // REQUIRES: `space` outlives it.
  explicit Reservations(AddressSpace& space) : space_(space) {}

  // Reserves at least `bytes`. Errors: kOutOfMemory if there is no such stretch, or half of the addresses is reserved.
  Result<Address> add(Bytes bytes);
  // REQUIRES: with() returned it.
  void remove(const Reservation& reservation);
  void set_range(const Reservation& reservation, Run* range) { all_.at(reservation.start).range = range; }

  // The reservation with this address; null if there is none.
  const Reservation* with(Address address) const;
  // Whether all these bytes are in one reservation, and begin at a base page.
  bool contain(Address address, Bytes bytes) const;
  Bytes bytes() const { return bytes_; }
  // Errors: kInternal where the bytes do not add up, or a window that is reserved `is_used` otherwise.
  Status validate(const std::function<bool(std::uint64_t)>& is_used) const;

 private:
  std::uint64_t window_of(Address address) const { return (address - space_.low()) / kLargePage; }

  AddressSpace& space_;
  std::map<Address, Reservation> all_;  // by start
  Bytes bytes_;                         // of their windows
};

}  // namespace tessera
