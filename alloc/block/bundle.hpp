// A run shared by blocks of several sizes, packed one after another in allocation order.
//
// For blocks of 1 to 16 MiB allocated in a burst (burst.hpp). With pages of its own each block wastes the
// rounding to pages; here only the space behind the last block is lost. Slots of one class would suit a size
// with many blocks, but models have sizes with few blocks each (docs/decisions/0019).
//
// A place is cut when a block is first put there, and keeps its bounds as long as the bundle exists; a free
// place is reused for blocks of about its size. So the list that maps a byte to its block only grows, and a
// look-up reads it without a lock.
//
// Thread safety: words and places from any thread; append() and the set of free places under the bundle cache's
// lock.
//
// Invariants: places are contiguous from the start of the run, each above 1 MiB; a free place is not live.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>

#include "block/block_owner.hpp"

namespace tessera {

class Bundle : public BlockOwner {
 public:
  static constexpr Bytes kMostBytes = 128_MiB;  // for planned bundles
  static constexpr Bytes kMostBurstBytes =
      18_MiB;  // eight blocks of 2.25 MiB; with more, too many bytes move for one block
  static constexpr Bytes kLargestBlock = 16_MiB;
  static constexpr std::uint32_t kMostPlaces = 63;

  // Creates a bundle without places. REQUIRES: `run_bytes` is a whole number of base pages, at most kMostBytes.
  Bundle(Bytes run_bytes, StreamId bundle_stream, TagId bundle_tag);
  // Creates the bundle of planned run `number` with these places, all free and reserved for the plan's blocks.
  // REQUIRES: at most kMostPlaces places.
  Bundle(std::uint32_t number, std::span<const Bytes> places, StreamId bundle_stream, TagId bundle_tag);

  // Whether rounding to pages of its own would waste enough of a block of `bytes` to justify a bundle.
  static bool is_for(Bytes bytes);
  // The run size of a new bundle, assuming that similar blocks follow: the page count that a whole number of
  // such blocks fills best, at most `most` bytes; otherwise the pages of this block alone.
  static Bytes bytes_for(Bytes block, Bytes most);
  static Bytes place_bytes(Bytes block) { return round_up(block, kBlockAlignment); }
  // The run size of a bundle with these places.
  static Bytes run_bytes(std::span<const Bytes> places);

  const StreamId stream;                       // key of the stream that all of its blocks serve
  const std::optional<std::uint32_t> planned;  // number in the plan
  // The Run::name of a planned run: derived from its number in the plan, not from its address.
  static std::uint64_t name_of(std::uint32_t planned_number) { return ~std::uint64_t{planned_number}; }

  Bytes bytes() const { return size_class.bytes(); }
  // The words of all places that fit into the bundle, cut or not.
  std::span<const BlockWord> words() const {
    const std::uint64_t fit = bytes() / (kSlotLimit + kBlockAlignment);
    return std::span(words_).first(static_cast<std::size_t>(std::min<std::uint64_t>(fit, kMostPlaces)));
  }
  BlockWord& word(std::uint32_t place) { return words_[place]; }
  const BlockWord& word(std::uint32_t place) const { return words_[place]; }

  std::uint32_t places() const { return places_.load(std::memory_order_acquire); }
  // The place that contains this byte of the run; empty for the space behind the last place.
  std::optional<std::uint32_t> place_at(Bytes offset) const {
    const auto ends = std::span(ends_).subspan(1, places());
    const auto end = std::ranges::upper_bound(ends, offset);
    if (end == ends.end()) return std::nullopt;
    return static_cast<std::uint32_t>(end - ends.begin());
  }
  // REQUIRES, here and below: the place exists.
  Bytes offset(std::uint32_t place) const { return ends_[place]; }
  Bytes capacity(std::uint32_t place) const { return ends_[place + 1] - ends_[place]; }
  Address address(std::uint32_t place) const { return run->address + offset(place); }

  // The space behind the last place.
  Bytes room() const { return bytes() - ends_[places()]; }
  Address room_at() const { return run->address + ends_[places()]; }
  // Cuts a new place, not free. REQUIRES: kSlotLimit < place_bytes <= room(), a multiple of kBlockAlignment.
  std::uint32_t append(Bytes place_bytes);

  // REQUIRES: the place is free.
  void take(std::uint32_t place);
  // REQUIRES: the place is not free.
  void give(std::uint32_t place);
  bool is_free(std::uint32_t place) const { return (free_ >> place & 1) != 0; }
  bool is_empty() const { return free_ == (std::uint64_t{1} << places()) - 1; }
  Status validate() const;

 private:
  static_assert(kMostPlaces < 64, "one bit for each");

  std::array<BlockWord, kMostPlaces> words_;
  // Place n lies between entries n and n + 1, which are written before places_ counts it.
  std::array<Bytes, kMostPlaces + 1> ends_{};
  std::atomic<std::uint32_t> places_{0};
  std::uint64_t free_ = 0;  // one bit per place
};

}  // namespace tessera
