// A base page, or a part of a shared one, divided into slots of one class for one domain, with a bitmap of free
// slots.
//
// A bitmap rather than a free list: it costs one bit per slot, serves the lowest address first, and cannot contain a
// slot twice.
//
// A thread takes the slots of one cache line of words at a time, so threads that share a slab do not share a
// line. For large slots a line holds fewer words: the slots of a line span at most kLineBytes, and the words of
// a slab take a thousandth of its page.
//
// Thread safety: words and slot_at() from any thread; the free slots under the slot cache's lock.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "block/block_owner.hpp"

namespace tessera {

class SharedPage;

class Slab : public BlockOwner {
 public:
  static constexpr std::uint32_t kLineSlots = 8;  // maximum
  static constexpr Bytes kLineBytes = 128_KiB;
  struct alignas(64) Line {
    std::array<BlockWord, kLineSlots> words;
  };
  // A part of a shared page: its position, and storage for the words of its slots.
  struct Part {
    SharedPage* page;
    Bytes start, bytes;
    std::span<Line> lines;
  };

  // A whole page. REQUIRES: `slab_class` is a slot class. All slots start free.
  Slab(SizeClass slab_class, StreamId slab_stream, TagId slab_tag);
  // REQUIRES: as above; the part has room for a slot and lines_for() lines, which outlive the slab.
  Slab(SizeClass slab_class, StreamId slab_stream, TagId slab_tag, const Part& part);

  // The number of slots of this size with words in one line; a power of two.
  static std::uint32_t line_slots(Bytes slot_bytes);
  static std::uint32_t lines_for(std::uint32_t slots, Bytes slot_bytes);

  const StreamId stream;  // key of the stream that all of its blocks serve
  const Bytes start;      // offset in its run

  Bytes bytes() const { return bytes_; }
  SharedPage* page() const { return page_; }  // null if it is a whole page
  std::uint32_t slots() const { return slots_; }
  // The words of all slots, and the unused entries of lines.
  std::span<const BlockWord> words() const { return {lines_.front().words.data(), lines_.size() * kLineSlots}; }
  // The slot that contains this byte of the slab; empty for the unused tail.
  std::optional<std::uint32_t> slot_at(Bytes offset) const {
    const auto unit = offset / kBlockAlignment;
    const auto slot = static_cast<std::uint32_t>(unit * reciprocal_ >> kReciprocalShift);
    if (slot >= slots_) return std::nullopt;
    return slot;
  }
  Bytes offset(std::uint32_t slot) const { return size_class.bytes() * slot; }
  Address address(std::uint32_t slot) const { return run->address + start + offset(slot); }
  BlockWord& word(std::uint32_t slot) { return lines_[slot >> line_shift_].words[slot & line_mask()]; }
  const BlockWord& word(std::uint32_t slot) const { return lines_[slot >> line_shift_].words[slot & line_mask()]; }

  // Takes the lowest free slot and further ones of its line, at most out.size(); returns the number taken.
  // REQUIRES: free_slots() > 0, out is not empty.
  std::size_t take_line(std::span<std::uint32_t> out);
  // REQUIRES: the slot is not free.
  void give(std::uint32_t slot);
  bool is_free(std::uint32_t slot) const { return (free_[slot / 64] >> slot % 64 & 1) != 0; }
  std::uint32_t free_slots() const { return free_slots_; }
  // How empty it is: 0 to kEmptiest.
  static constexpr std::uint32_t kEmptiest = 8;
  std::uint32_t emptiness() const { return free_slots_ * kEmptiest / slots_; }
  // The emptiness by which the slot cache lists it.
  std::uint32_t listed_as() const { return listed_as_; }
  void note_listed() { listed_as_ = emptiness(); }
  bool is_empty() const { return free_slots_ == slots_; }
  // Checks that free slots are not live and that the count is right.
  Status validate() const;

 private:
  // Division by the slot size as a multiplication: exact while offset * size < 2^24 units; a base page has 2^12
  // units, a slot at most 2^11.
  static constexpr int kReciprocalShift = 24;

  std::uint32_t line_mask() const { return (1u << line_shift_) - 1; }

  const std::uint32_t slots_;
  const std::uint32_t line_shift_;  // log2 of the number of slots with words in one line
  const std::uint64_t reciprocal_;
  std::span<Line> lines_;
  // Look-ups read the members up to here.
  const Bytes bytes_;
  SharedPage* const page_;
  std::vector<Line> own_lines_;  // empty if it is a part

  // These change while other threads read the members above, hence the cache line of their own.
  alignas(64) std::vector<std::uint64_t> free_;
  std::uint32_t free_slots_;
  std::uint32_t first_word_ = 0;  // words of free_ before this index have no free slot
  std::uint32_t listed_as_ = 0;
};

}  // namespace tessera
