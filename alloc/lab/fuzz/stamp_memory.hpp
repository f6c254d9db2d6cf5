// Memory without bytes that still tracks what was written where: a stamp instead of contents.
//
// Why: in virtual time nothing has bytes, so a lost byte could not be detected. A writer leaves one number at the first
// and the last byte of a range; copies carry the numbers along. A reader that finds a different number, or none, has
// found wrong data. All memories of a machine share one space of places: frames of devices, host memory, the disk.
//
// Thread safety: none; a simulated machine in virtual time has one thread.
//
// Invariants: places of different memories never overlap.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/units.hpp"

namespace tessera {

using Stamp = std::uint64_t;
// The contents while a write is in progress, or after it ended half done.
inline constexpr Stamp kTorn = ~Stamp{0};

using Place = Id<struct PlaceTag>;

Place device_place(std::uint64_t frame, Bytes offset);
Place host_place(const void* host);
Place disk_place(Bytes offset);

class StampMemory {
 public:
  // Stamps by distance from the first byte, in ascending order.
  using Contents = std::vector<std::pair<std::uint64_t, Stamp>>;

  // The range then holds `stamp` and nothing else. REQUIRES: bytes is not zero.
  void write(Place start, Bytes bytes, Stamp stamp);
  void write(Place start, Bytes bytes, const Contents& contents);
  Contents read(Place start, Bytes bytes) const;
  // The stamp at the range's first and last byte; nothing unless they agree.
  std::optional<Stamp> stamp_of(Place start, Bytes bytes) const;
  // A hash of what the range holds, in place of a checksum.
  std::uint64_t digest(Place start, Bytes bytes) const;

 private:
  std::map<std::uint64_t, Stamp> stamps_;  // by place
};

}  // namespace tessera
