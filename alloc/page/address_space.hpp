// One big reservation of device addresses, cut in windows of a large page each.
//
// Why one: every address of ours then lies in one range, so "is this ours" is one compare, and the
// page map is a flat array. Addresses cost nothing; only frames behind them do.
//
// Addresses should not look like numbers, as launches and tables are searched for words that could be
// addresses. Two measures. The range is asked for high: a driver that is not asked answers 0x302000000,
// which is also the pair of 32-bit numbers (0x2000000, 3). And the first and the last window of each
// 4 GiB, the *edges*, are handed out last: a pair of which the lower number is small, or small and
// negative, then is no address of a block, wherever the range lies.
//
// Thread safety: the range is constant; the rest is the page manager's, under its lock.
//
// Invariants (validate()): the free windows are a set of windows of the range; those that are clear of
// edges are known apart.
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
  // Reserves `wanted`, or half of it, or half of that ..., but not less than `least`: where no program
  // counts to, if the driver takes one of several hints, else where it likes.
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

  // The first of `count` free windows in a row; best fit, lowest first. With an edge among them only
  // where there are no others.
  std::optional<std::uint64_t> take(std::uint64_t count);
  // REQUIRES: these windows were taken.
  void give(std::uint64_t first, std::uint64_t count);

  bool is_free(std::uint64_t window) const { return free_.extent_at(window).has_value(); }
  std::uint64_t free_windows() const { return free_.free_count(); }
  Status validate() const;

 private:
  // What the driver gave; the windows may be less, where it ignored the alignment.
  struct Reservation {
    Address start;
    Bytes bytes;
  };

  AddressSpace(Driver& driver, Reservation reserved, std::uint64_t windows);
  static Result<Reservation> reserve_high(Driver& driver, Bytes bytes);
  static Result<Reservation> reserve_aligned(Driver& driver, Bytes bytes, Address hint);
  bool is_edge(std::uint64_t window) const;
  // Calls act(first, count) for each stretch of these windows between edges.
  template <class Act>
  void for_each_clear(std::uint64_t first, std::uint64_t count, Act act) const;

  Driver& driver_;
  const Reservation reserved_;
  const Address low_;
  const std::uint64_t windows_;
  ExtentMap free_;
  ExtentMap clear_;  // the free windows that are no edges
};

}  // namespace tessera
