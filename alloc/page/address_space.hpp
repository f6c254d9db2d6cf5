// One big reservation of device addresses, cut in windows of a large page each.
//
// Why one: every address of ours then lies in one range, so "is this ours" is one compare, and the
// page map is a flat array. Addresses cost nothing; only frames behind them do.
//
// Thread safety: the range is constant; the rest is the page manager's, under its lock.
//
// Invariants (validate()): the free windows are a set of windows of the range.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "base/extent_map.hpp"
#include "base/page_class.hpp"
#include "driver/driver.hpp"

namespace tessera {

class AddressSpace {
 public:
  // Reserves `wanted`, or half of it, or half of that ..., but not less than `least`.
  // Errors: kOutOfMemory when the driver grants none of these.
  static Result<std::unique_ptr<AddressSpace>> reserve(Driver& driver, Bytes wanted, Bytes least);
  // REQUIRES: nothing is mapped in the range.
  ~AddressSpace();
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  Address low() const { return low_; }
  Bytes bytes() const { return kLargePage * windows_; }
  Address high() const { return low_ + bytes(); }
  std::uint64_t windows() const { return windows_; }

  // The first of `count` free windows in a row; best fit, lowest first.
  std::optional<std::uint64_t> take(std::uint64_t count) { return free_.take(count); }
  // REQUIRES: these windows were taken.
  void give(std::uint64_t first, std::uint64_t count) { free_.give(first, count); }

  bool is_free(std::uint64_t window) const { return free_.extent_at(window).has_value(); }
  std::uint64_t free_windows() const { return free_.free_count(); }
  Status validate() const;

 private:
  AddressSpace(Driver& driver, Address low, std::uint64_t windows);

  Driver& driver_;
  const Address low_;
  const std::uint64_t windows_;
  ExtentMap free_;
};

}  // namespace tessera
