// Memory without bytes that still knows what was written where: a stamp instead of contents.
//
// Why: in virtual time nothing has bytes, and a lost byte could not be seen. Whoever writes a stretch
// leaves one number at its first and its last byte; copies carry the numbers along. A reader that
// finds another number, or none, has found wrong data. All memories of a machine are in one space
// of places: frames of devices, host memory, the disk.
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
// What is there while a writer is at work, or after it came to half an end.
inline constexpr Stamp kTorn = ~Stamp{0};

using Place = Id<struct PlaceTag>;

Place device_place(std::uint64_t frame, Bytes offset);
Place host_place(const void* host);
Place disk_place(Bytes offset);

class StampMemory {
 public:
  // Stamps by their distance from the first byte, in ascending order.
  using Contents = std::vector<std::pair<std::uint64_t, Stamp>>;

  // The stretch holds `stamp` and nothing else. REQUIRES: bytes is not zero.
  void write(Place start, Bytes bytes, Stamp stamp);
  void write(Place start, Bytes bytes, const Contents& contents);
  Contents read(Place start, Bytes bytes) const;
  // What is left of the stretch's first and last byte; nothing unless they agree.
  std::optional<Stamp> stamp_of(Place start, Bytes bytes) const;
  // One number for what the stretch holds: in place of a checksum.
  std::uint64_t digest(Place start, Bytes bytes) const;

 private:
  std::map<std::uint64_t, Stamp> stamps_;  // by place
};

}  // namespace tessera
