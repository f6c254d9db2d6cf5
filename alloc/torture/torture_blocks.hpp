// What a torture program knows of its blocks: where they are, what they must hold, who used them.
//
// The program is a correct one: before work on one stream it lets that stream wait for the work on
// others that it builds on. This keeps what it needs for that.
//
// Thread safety: none.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>

#include "base/units.hpp"
#include "torture/stamp_memory.hpp"
#include "torture/torture_program.hpp"

namespace tessera {

inline constexpr std::size_t kMaxTortureStreams = 16;
using StreamSet = std::bitset<kMaxTortureStreams>;

struct TortureBlock {
  Address address;
  Bytes bytes;
  Stamp stamp = 0;         // 0: nothing was written yet
  std::uint32_t writer = 0;  // stream of the last write, or of the allocation
  StreamSet users;         // streams that used it since, the writer among them
  std::uint32_t pins = 0;
  bool exposed = false;

  explicit operator bool() const { return bytes != Bytes(); }
};

// With those of a refrain on each of two devices.
using TortureBlocks = std::array<TortureBlock, TortureProgram::kSlots + 2 * TortureProgram::kRefrainBlocks>;

}  // namespace tessera
