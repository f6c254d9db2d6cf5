// The state of a fuzz program's blocks: address, expected contents, users.
//
// The program is correct: before work on one stream, it makes that stream wait for the work on others that it depends
// on. This has the data for that.
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
  StreamSet users;         // streams that used it since, including the writer
  std::uint32_t pins = 0;
  bool exposed = false;

  explicit operator bool() const { return bytes != Bytes(); }
};

// With those of a refrain on each device.
using TortureBlocks =
    std::array<TortureBlock, TortureProgram::kSlots + TortureProgram::kMostDevices * TortureProgram::kRefrainBlocks>;

}  // namespace tessera
