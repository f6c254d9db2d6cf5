// The state of a fuzz program's blocks: address, expected contents, users.
//
// The program is correct: before it queues work on a stream, it makes that stream wait for the work on other streams
// that the new work depends on. This holds the data for that.
//
// Thread safety: none.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "lab/fuzz/fuzz_program.hpp"
#include "lab/fuzz/stamp_memory.hpp"

namespace tessera {

inline constexpr std::size_t kMaxFuzzStreams = 16;
using StreamSet = std::bitset<kMaxFuzzStreams>;

struct FuzzPart {
  Bytes offset, bytes;
  Stamp stamp = 0;
};

struct FuzzBlock {
  Address address;
  Bytes bytes;
  Stamp stamp = 0;           // 0: nothing was written yet
  std::uint32_t writer = 0;  // stream of the last write, or of the allocation
  StreamSet users{};         // streams that used it since, including the writer
  std::uint32_t pins = 0;
  bool exposed = false;
  bool mappable = false;
  bool beside = false;            // it is mapped in a segment, beside others
  Address reserved = {};          // the addresses it is mapped at; none: it has one of its own
  bool remade = false;            // it got a callback
  bool has_objects = false;       // its parts were added one by one
  std::vector<FuzzPart> parts{};  // a cut block is used by its parts, of which `stamp` says nothing

  explicit operator bool() const { return bytes != Bytes(); }
};

// Includes the blocks of a repeated pattern on each device.
// What a use means by a block: all of it, or one of its parts.
struct FuzzPlace {
  Address address;
  Bytes bytes;
  Stamp* stamp = nullptr;
};
inline FuzzPlace place_in(FuzzBlock& block, std::uint32_t number) {
  if (block.parts.empty()) return {block.address, block.bytes, &block.stamp};
  FuzzPart& part = block.parts[number % block.parts.size()];
  return {block.address + part.offset, part.bytes, &part.stamp};
}

using FuzzBlocks = std::array<FuzzBlock, FuzzProgram::kSlots + FuzzProgram::kMostDevices * FuzzProgram::kPatternBlocks>;

}  // namespace tessera
