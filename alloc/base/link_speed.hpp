// How long bytes take over a link: its bandwidth, and what every transfer takes besides.
//
// Thread safety: a value.
#pragma once

#include <cstdint>

#include "base/units.hpp"

namespace tessera {

struct LinkSpeed {
  std::uint64_t bytes_per_second = 0;  // 0: bytes take no time
  Nanoseconds latency{};               // of each transfer

  // Rounded up, so that no sum of transfers is faster than the link.
  Nanoseconds time_for(Bytes bytes) const {
    if (bytes_per_second == 0) return latency;
    __extension__ using Wide = unsigned __int128;
    const Wide scaled = static_cast<Wide>(bytes.value()) * 1'000'000'000U;
    const Wide whole = (scaled + bytes_per_second - 1) / bytes_per_second;
    return latency + Nanoseconds(static_cast<std::uint64_t>(whole));
  }
};

}  // namespace tessera
