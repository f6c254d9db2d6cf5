// A run that blocks of several sizes share, each behind the one made before it.
//
// For blocks of 1 to 16 MiB that are made in a burst (burst.hpp). In pages of their own each loses what rounding to
// pages takes; here only what is left behind the last one is lost. Slots of one class would do for a size of which
// there are many, but a model has sizes of which there are few (decision 19).
//
// A place is cut when a block is first put there, and stays as it is while the bundle does; a free one serves blocks
// that need about as much. So which block has a byte is told by a list that only grows, and a look-up reads it
// without a lock.
//
// Thread safety: words and places by any thread; append(), and which places are free, under the bundle cache's lock.
//
// Invariants: places lie behind one another from the start of the run on, each above 1 MiB; a free one is not live.
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
  static constexpr Bytes kMostBytes = 128_MiB;      // by plan
  static constexpr Bytes kMostBurstBytes = 18_MiB;  // eight of 2.25 MiB: more, and too much moves for one block
  static constexpr Bytes kLargestBlock = 16_MiB;
  static constexpr std::uint32_t kMostPlaces = 63;

  // Without a place. REQUIRES: `run_bytes` are whole base pages, at most kMostBytes.
  Bundle(Bytes run_bytes, StreamId bundle_stream, TagId bundle_tag);
  // With these places, all free, which are for those that the plan of run `number` says. REQUIRES: kMostPlaces at most.
  Bundle(std::uint32_t number, std::span<const Bytes> places, StreamId bundle_stream, TagId bundle_tag);

  // Whether a block of so many bytes loses more in pages of its own than it is worth.
  static bool is_for(Bytes bytes);
  // What the run of a new one has, if blocks like this follow: the pages that a whole number of them fills best, at
  // most `most` bytes; or those of this one alone.
  static Bytes bytes_for(Bytes block, Bytes most);
  static Bytes place_bytes(Bytes block) { return round_up(block, kBlockAlignment); }
  // What the run of one with these places has.
  static Bytes run_bytes(std::span<const Bytes> places);

  const StreamId stream;  // key of the stream all of its blocks are for
  const std::optional<std::uint32_t> planned;  // by this number
  // Of the run that a plan has by this number (Run::name): no address.
  static std::uint64_t name_of(std::uint32_t planned_number) { return ~std::uint64_t{planned_number}; }

  Bytes bytes() const { return size_class.bytes(); }
  // Of all places there may be.
  std::span<const BlockWord> words() const {
    const std::uint64_t fit = bytes() / (kSlotLimit + kBlockAlignment);
    return std::span(words_).first(static_cast<std::size_t>(std::min<std::uint64_t>(fit, kMostPlaces)));
  }
  BlockWord& word(std::uint32_t place) { return words_[place]; }
  const BlockWord& word(std::uint32_t place) const { return words_[place]; }

  std::uint32_t places() const { return places_.load(std::memory_order_acquire); }
  // The place that holds this byte of the run; none in what is left behind the last.
  std::optional<std::uint32_t> place_at(Bytes offset) const {
    const auto ends = std::span(ends_).subspan(1, places());
    const auto end = std::ranges::upper_bound(ends, offset);
    if (end == ends.end()) return std::nullopt;
    return static_cast<std::uint32_t>(end - ends.begin());
  }
  // REQUIRES, here and below: the place is one.
  Bytes offset(std::uint32_t place) const { return ends_[place]; }
  Bytes capacity(std::uint32_t place) const { return ends_[place + 1] - ends_[place]; }
  Address address(std::uint32_t place) const { return run->address + offset(place); }

  // Behind the last place.
  Bytes room() const { return bytes() - ends_[places()]; }
  Address room_at() const { return run->address + ends_[places()]; }
  // A new place, not free. REQUIRES: kSlotLimit < place_bytes <= room(), and they are a multiple of kBlockAlignment.
  std::uint32_t append(Bytes place_bytes);

  // REQUIRES: the place is free.
  void take(std::uint32_t place);
  // REQUIRES: it is not.
  void give(std::uint32_t place);
  bool is_free(std::uint32_t place) const { return (free_ >> place & 1) != 0; }
  bool is_empty() const { return free_ == (std::uint64_t{1} << places()) - 1; }
  Status validate() const;

 private:
  static_assert(kMostPlaces < 64, "one bit for each");

  std::array<BlockWord, kMostPlaces> words_;
  // Place n lies between entries n and n + 1, which are written before it is counted.
  std::array<Bytes, kMostPlaces + 1> ends_{};
  std::atomic<std::uint32_t> places_{0};
  std::uint64_t free_ = 0;  // a bit for each place
};

}  // namespace tessera
