// A base page cut in slots of one class, for one domain; the list of free slots is a bitmap.
//
// A bitmap, and not a chain, because it costs one bit per slot, serves the lowest address first
// (which keeps sparse slabs sparse, so that they empty), and cannot hold a slot twice.
//
// Thread safety: words and slot_at() by any thread; the free slots under the slot cache's lock.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "block/block_owner.hpp"

namespace tessera {

class Slab : public BlockOwner {
 public:
  // REQUIRES: `slab_class` is a slot class. All slots start free.
  Slab(SizeClass slab_class, StreamId slab_stream, TagId slab_tag);

  const StreamId stream;  // key of the stream all of its blocks are for

  std::uint32_t slots() const { return slots_; }
  // The slot that holds this byte of the page; none in the tail that no slot has.
  std::optional<std::uint32_t> slot_at(Bytes offset) const {
    const auto unit = offset / kBlockAlignment;
    const auto slot = static_cast<std::uint32_t>(unit * reciprocal_ >> kReciprocalShift);
    if (slot >= slots_) return std::nullopt;
    return slot;
  }
  Bytes offset(std::uint32_t slot) const { return size_class.bytes() * slot; }
  Address address(std::uint32_t slot) const { return run->address + offset(slot); }
  BlockWord& word(std::uint32_t slot) { return words_[slot]; }
  const BlockWord& word(std::uint32_t slot) const { return words_[slot]; }

  // The lowest free slot, taken. REQUIRES: free_slots() > 0.
  std::uint32_t take();
  // REQUIRES: the slot is not free.
  void give(std::uint32_t slot);
  bool is_free(std::uint32_t slot) const { return (free_[slot / 64] >> slot % 64 & 1) != 0; }
  std::uint32_t free_slots() const { return free_slots_; }
  bool is_empty() const { return free_slots_ == slots_; }
  // Free slots are not live, and as many as are counted.
  Status validate() const;

 private:
  // Division by the slot's size as a product: exact while offset * size < 2^24 units, and a base
  // page has 2^12 units, a slot at most 2^11.
  static constexpr int kReciprocalShift = 24;

  const std::uint32_t slots_;
  const std::uint64_t reciprocal_;
  std::vector<BlockWord> words_;
  std::vector<std::uint64_t> free_;
  std::uint32_t free_slots_;
  std::uint32_t first_word_ = 0;  // no free slot is in a word of free_ before it
};

}  // namespace tessera
