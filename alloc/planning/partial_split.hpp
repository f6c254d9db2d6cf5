// Which pages of partial blocks are worth a place on the device: those with the bytes that launches name most often.
//
// What a launch names is an address, and seldom an end: the object there ends where the next one begins that was ever
// named. So the split may be better or worse by this, and every access is right in any case.
//
// A page in host memory costs its bytes over the link each time that they are named, and an exchange costs the bytes of
// both pages once. It is expected to be named as often again as was counted. An exchange has to pay by a wide margin,
// so that of a block that is read in a circle, where counts differ by what the circle has come round to, nothing moves.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/units.hpp"

namespace tessera {

// What launches have named of a block, and how often.
struct NamedStretch {
  Bytes offset;  // from the block's first byte
  Bytes bytes;   // 0: its end is not known
  std::uint64_t times = 0;
};

// A page of a partial block.
struct SplitPage {
  Bytes offset;
  Bytes bytes;
  bool in_host = false;
  Bytes named{};  // its bytes, each as often as it was named
};

// Sets `named` of the pages of one block, in order. Stretches of which no end is known end where the next begins.
void count_named(std::vector<NamedStretch> stretches, std::span<SplitPage> pages);

// Two pages of the same size, by their indices.
struct PageExchange {
  std::size_t in;   // to the device
  std::size_t out;  // to host memory
};
// The best ones, of up to `most` bytes to the device: what comes in was named more than twice as often as what goes
// out, and by `least_gain` times more. Pages of several blocks may be compared.
std::vector<PageExchange> exchanges_that_pay(std::span<const SplitPage> pages, std::uint64_t least_gain, Bytes most);

}  // namespace tessera
