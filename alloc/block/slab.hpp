// A base page, or a part of one that is shared, cut in slots of one class, for one domain; the list of free slots
// is a bitmap.
//
// A bitmap, and not a chain, because it costs one bit per slot, serves the lowest address first
// (which keeps sparse slabs sparse, so that they empty), and cannot hold a slot twice.
//
// A thread takes the slots of one cache line of words at a time, so threads that share a slab do not
// share a line. Where slots are large, lines hold fewer words: the slots of a line are never more than
// kLineBytes, and the words of a slab a thousandth of its page.
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

class SharedPage;

class Slab : public BlockOwner {
 public:
  static constexpr std::uint32_t kLineSlots = 8;  // at most
  static constexpr Bytes kLineBytes = 128_KiB;
  struct alignas(64) Line {
    std::array<BlockWord, kLineSlots> words;
  };
  // A part of a shared page: where it is, and where the words of its slots are to be.
  struct Part {
    SharedPage* page;
    Bytes start, bytes;
    std::span<Line> lines;
  };

  // A whole page. REQUIRES: `slab_class` is a slot class. All slots start free.
  Slab(SizeClass slab_class, StreamId slab_stream, TagId slab_tag);
  // REQUIRES: as above; the part has room for a slot, and lines_for() lines, which outlive the slab.
  Slab(SizeClass slab_class, StreamId slab_stream, TagId slab_tag, const Part& part);

  // So many slots of a size have their words in one line: a power of two.
  static std::uint32_t line_slots(Bytes slot_bytes);
  static std::uint32_t lines_for(std::uint32_t slots, Bytes slot_bytes);

  const StreamId stream;  // key of the stream all of its blocks are for
  const Bytes start;      // in its run

  Bytes bytes() const { return bytes_; }
  SharedPage* page() const { return page_; }  // null when it is a whole one
  std::uint32_t slots() const { return slots_; }
  // Of all slots, and of places in lines that no slot has.
  std::span<const BlockWord> words() const { return {lines_.front().words.data(), lines_.size() * kLineSlots}; }
  // The slot that holds this byte of the slab; none in the tail that no slot has.
  std::optional<std::uint32_t> slot_at(Bytes offset) const {
    const auto unit = offset / kBlockAlignment;
    const auto slot = static_cast<std::uint32_t>(unit * reciprocal_ >> kReciprocalShift);
    if (slot >= slots_) return std::nullopt;
    return slot;
  }
  Bytes offset(std::uint32_t slot) const { return size_class.bytes() * slot; }
  Address address(std::uint32_t slot) const { return run->address + start + offset(slot); }
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
  // Division by the slot's size as a product: exact while offset * size < 2^24 units, and a base
  // page has 2^12 units, a slot at most 2^11.
  static constexpr int kReciprocalShift = 24;

  std::uint32_t line_mask() const { return (1u << line_shift_) - 1; }

  const std::uint32_t slots_;
  const std::uint32_t line_shift_;  // so many slots, as a power of two, have their words in one line
  const std::uint64_t reciprocal_;
  std::span<Line> lines_;
  // What a look-up reads ends here.
  const Bytes bytes_;
  SharedPage* const page_;
  std::vector<Line> own_lines_;  // none when it is a part

  // What follows changes while other threads read what stands above.
  alignas(64) std::vector<std::uint64_t> free_;
  std::uint32_t free_slots_;
  std::uint32_t first_word_ = 0;  // no free slot is in a word of free_ before it
};

}  // namespace tessera
