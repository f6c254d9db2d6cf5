// One large reservation of device addresses, divided into windows of one large page each.
//
// A single range makes "is this address ours" one compare and lets the page map be a flat array. Addresses cost
// nothing; only the frames behind them do.
//
// Addresses should not look like ordinary numbers, because launches and tables are searched for words that
// could be addresses. Two measures help. The range is requested at a high address: without a hint, a driver
// answers 0x302000000, which is also the pair of 32-bit numbers (0x2000000, 3). And the first and last window
// of each 4 GiB, the *edges*, are handed out last: a pair with a small, or small negative, lower number is then
// not the address of a block, wherever the range lies.
//
// Thread safety: the range is constant; the page manager guards the rest with its lock.
//
// Invariants (validate()): the free windows are a subset of the range; those that are not edges are also kept
// in a separate set.
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
  // Reserves `wanted`, or half of it, or half of that, and so on, but not less than `least`: above the values
  // that programs count to if the driver accepts one of several hints, else wherever the driver chooses.
  // Errors: kOutOfMemory if the driver grants none of these.
  static Result<std::unique_ptr<AddressSpace>> reserve(Driver& driver, Bytes wanted, Bytes least);
  // REQUIRES: nothing is mapped in the range.
  ~AddressSpace();
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;

  Address low() const { return low_; }
  Bytes bytes() const { return kLargePage * windows_; }
  Address high() const { return low_ + bytes(); }
  std::uint64_t windows() const { return windows_; }

  // The first of `count` consecutive free windows: best fit, lowest first. Uses edges only if there is no such
  // stretch without them.
  std::optional<std::uint64_t> take(std::uint64_t count);
  // REQUIRES: the windows were taken.
  void give(std::uint64_t first, std::uint64_t count);

  bool is_free(std::uint64_t window) const { return free_.extent_at(window).has_value(); }
  std::uint64_t free_windows() const { return free_.free_count(); }
  Status validate() const;

 private:
  // What the driver granted; larger than the windows if the driver ignored the alignment.
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
  ExtentMap clear_;  // the free windows that are not edges
};

}  // namespace tessera
