// The time a transfer takes over a link: bandwidth and a fixed latency per transfer.
//
// Thread safety: a value.
#pragma once

#include <cstdint>

#include "base/units.hpp"

namespace tessera {

struct LinkSpeed {
  std::uint64_t bytes_per_second = 0;  // 0: infinite
  Nanoseconds latency{};               // per transfer

  // Rounded up, so that no sequence of transfers exceeds the link's bandwidth.
  Nanoseconds time_for(Bytes bytes) const {
    if (bytes_per_second == 0) return latency;
    __extension__ using Wide = unsigned __int128;
    const Wide scaled = static_cast<Wide>(bytes.value()) * 1'000'000'000U;
    const Wide whole = (scaled + bytes_per_second - 1) / bytes_per_second;
    return latency + Nanoseconds(static_cast<std::uint64_t>(whole));
  }
};

}  // namespace tessera
