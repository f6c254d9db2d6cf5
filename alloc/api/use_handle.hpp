// Stores an announced use in the caller's tessera_use, and converts C values to ours.
//
// The common use (one device, queued work) fits into the caller's four words; only blocking uses
// and uses of several devices need memory.
//
// Thread safety: values.
#pragma once

#include <cstdint>

#include "api/allocator.hpp"
#include "tessera/tessera.h"

namespace tessera {

inline constexpr std::size_t kMaxUseAddresses = 4096;

inline StreamId stream_id(tessera_stream stream) { return StreamId(reinterpret_cast<std::uint64_t>(stream)); }
inline Access access_of(tessera_access access) { return access == TESSERA_READ ? Access::kRead : Access::kWrite; }

// Of a use that holds its runs.
struct PackedHeld {
  std::vector<AnnouncedUse::Part> parts;
  bool copies = false;
};

inline constexpr std::uint64_t kGatesAlone = 1;  // in the word of the heap: the last word holds the gates

// words: device heap · gate slot and watch · stream · held parts, or the gates
inline void pack_use(AnnouncedUse announced, tessera_use* use) {
  use->opaque[0] = reinterpret_cast<std::uint64_t>(announced.heap);
  use->opaque[1] = announced.use.gate_slot | std::uint64_t{announced.use.watch} << 32;
  use->opaque[2] = announced.stream.value();
  use->opaque[3] = announced.gates;
  if (announced.gates != 0) use->opaque[0] = kGatesAlone;
  if (announced.held.empty()) return;
  auto* held = new PackedHeld{std::move(announced.held), announced.use.copies};
  use->opaque[3] = reinterpret_cast<std::uint64_t>(held);
}

// Leaves `use` empty: ending it twice does nothing.
inline AnnouncedUse unpack_use(tessera_use* use) {
  AnnouncedUse announced;
  const bool gates_alone = use->opaque[0] == kGatesAlone;
  if (!gates_alone) announced.heap = reinterpret_cast<DeviceHeap*>(use->opaque[0]);
  announced.use.gate_slot = static_cast<std::uint32_t>(use->opaque[1]);
  announced.use.watch = static_cast<std::uint32_t>(use->opaque[1] >> 32);
  announced.stream = StreamId(use->opaque[2]);
  if (gates_alone) {
    announced.gates = use->opaque[3];
  } else if (auto* held = reinterpret_cast<PackedHeld*>(use->opaque[3])) {
    announced.held = std::move(held->parts);
    announced.use.kind = Use::Kind::kHold;
    announced.use.copies = held->copies;
    delete held;
  }
  *use = {};
  return announced;
}

}  // namespace tessera
