// A run cut in slots of one class, for one domain; the list of free slots is a bitmap. It is a base page, or
// several for slots that do not fit one well.
//
// A bitmap, and not a chain, because it costs one bit per slot, serves the lowest address first
// (which keeps sparse slabs sparse, so that they empty), and cannot hold a slot twice.
//
// A thread takes the slots of one cache line of words at a time, so threads that share a slab do not
// share a line. Where slots are large, lines hold fewer words: the slots of a line are never more than
// kLineBytes, and the words of a slab a thousandth of its bytes.
//
// Thread safety: words and slot_at() by any thread; the free slots under the slot cache's lock.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "block/block_owner.hpp"

namespace tessera {

class Slab : public BlockOwner {
 public:
  static constexpr std::uint32_t kLineSlots = 8;  // at most
  static constexpr Bytes kLineBytes = 128_KiB;
  static constexpr Bytes kMostBytes = 18_MiB;  // eight of 2.25 MiB: more, and too much moves for one block

  // REQUIRES: `slab_class` is a slot class, and `slots` of it have at most kMostBytes. All slots start free.
  Slab(SizeClass slab_class, std::uint32_t slots, StreamId slab_stream, TagId slab_tag);
  // As many as a base page holds.
  Slab(SizeClass slab_class, StreamId slab_stream, TagId slab_tag)
      : Slab(slab_class, static_cast<std::uint32_t>(kBasePage / slab_class.bytes()), slab_stream, slab_tag) {}

  // So many slots of a size have their words in one line: a power of two.
  static std::uint32_t line_slots(Bytes slot_bytes);

  const StreamId stream;  // key of the stream all of its blocks are for

  std::uint32_t slots() const { return slots_; }
  // Of the run that it needs.
  Bytes bytes() const { return round_up(size_class.bytes() * slots_, kBasePage); }
  // Of all slots, and of places in lines that no slot has.
  std::span<const BlockWord> words() const { return {lines_.front().words.data(), lines_.size() * kLineSlots}; }
  // The slot that holds this byte of the run; none in the tail that no slot has.
  std::optional<std::uint32_t> slot_at(Bytes offset) const {
    const auto unit = offset / kBlockAlignment;
    const auto slot = static_cast<std::uint32_t>(unit * reciprocal_ >> kReciprocalShift);
    if (slot >= slots_) return std::nullopt;
    return slot;
  }
  Bytes offset(std::uint32_t slot) const { return size_class.bytes() * slot; }
  Address address(std::uint32_t slot) const { return run->address + offset(slot); }
  BlockWord& word(std::uint32_t slot) {
    return lines_[slot >> line_shift_].words[slot & line_mask()];
  }
  const BlockWord& word(std::uint32_t slot) const {
    return lines_[slot >> line_shift_].words[slot & line_mask()];
  }

  // The lowest free slot and others of its line, taken, at most out.size(); how many.
  // REQUIRES: free_slots() > 0, out is not empty.
  std::size_t take_line(std::span<std::uint32_t> out);
  // REQUIRES: the slot is not free.
  void give(std::uint32_t slot);
  bool is_free(std::uint32_t slot) const { return (free_[slot / 64] >> slot % 64 & 1) != 0; }
  std::uint32_t free_slots() const { return free_slots_; }
  bool is_empty() const { return free_slots_ == slots_; }
  // Free slots are not live, and as many as are counted.
  Status validate() const;

 private:
  // Division by the slot's size as a product: exact while offset * size < 2^32 units of 512 bytes, and a
  // slab has fewer than 2^16, a slot at most 2^15.
  static constexpr int kReciprocalShift = 32;
  static_assert(kMostBytes / kBlockAlignment < 1 << 16 && kWideLimit / kBlockAlignment <= 1 << 15);

  struct alignas(64) Line {
    std::array<BlockWord, kLineSlots> words;
  };
  std::uint32_t line_mask() const { return (1u << line_shift_) - 1; }

  const std::uint32_t slots_;
  const std::uint32_t line_shift_;  // so many slots, as a power of two, have their words in one line
  const std::uint64_t reciprocal_;
  std::vector<Line> lines_;

  // What follows changes while other threads read what stands above.
  alignas(64) std::vector<std::uint64_t> free_;
  std::uint32_t free_slots_;
  std::uint32_t first_word_ = 0;  // no free slot is in a word of free_ before it
};

}  // namespace tessera
