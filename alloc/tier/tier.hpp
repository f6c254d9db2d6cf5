// A tier: a budget of frames of one kind of memory. It hands out frames and takes them back.
//
// A frame is one physical piece of memory of a page class. The meaning of a frame's value is known only to its tier and
// to the code that moves bytes: in the device tier a driver handle, in the peer tier an address of its own, in the host
// tier the pointer to pinned bytes, in the file tier the offset in the spill file.
//
// Thread safety: every call of every tier may be made from any thread. All but the device tier serve
// all devices of a process.
//
// Invariants (validate(), and tests/contract/tier_contract.hpp for each implementation)
//  1. used + spare <= capacity, always; `used` is the sum of the pages of all frames that are out.
//  2. Frames that are out never overlap.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/location.hpp"
#include "base/page_class.hpp"
#include "base/status.hpp"
#include "base/units.hpp"

namespace tessera {

struct Frame {
  Location tier = Location::kDevice;
  PageClass page_class = PageClass::kBase;
  std::uint64_t value = 0;

  Bytes bytes() const { return page_bytes(page_class); }
};
static_assert(sizeof(Frame) == 16, "a page has up to four");

struct TierUsage {
  Bytes capacity{};  // the budget
  Bytes used{};      // in frames that are out
  Bytes spare{};     // held by the tier for reuse
  Bytes peak_used{};
  Bytes lost = {};  // of `used`, in frames that cannot be returned

  Bytes room() const { return capacity - std::min(used, capacity); }
};

class Tier {
 public:
  virtual ~Tier() = default;

  virtual Location location() const = 0;  // where its frames are
  // Errors: kOutOfMemory when the budget (or the machine) has no room for the class.
  virtual Result<Frame> take(PageClass page_class) = 0;
  // REQUIRES: `frame` was taken here and is not given back yet; nothing reads or writes it.
  virtual void give_back(Frame frame) = 0;
  virtual TierUsage usage() const = 0;
  // Returns memory that is held but not used to the machine.
  virtual void trim() = 0;
  virtual Status validate() const = 0;
};

}  // namespace tessera
