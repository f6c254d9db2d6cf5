// A base page whose parts are slabs of several classes, all for one stream and tag.
//
// Of most classes a program has few blocks, and a page for each of them holds memory that has to move when memory is
// short: 55 MiB of the 3 GB of a ResNet-50 (decision 25). So the first slabs of a class are parts of pages, and
// each has as many bytes as those before it together, until the next one is a whole page.
//
// Parts lie behind one another from the start of the page on, and stay as they are while the page does: so which slab
// has a byte is told by a table that only grows, and a look-up reads it without a lock.
//
// Thread safety: every call by any thread; but cut() and room() under the lock of whoever has the page.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "block/slab.hpp"

namespace tessera {

class SharedPage : public BlockOwner {
 public:
  static constexpr Bytes kUnit = 64_KiB;  // parts are a whole number of them
  static constexpr std::uint32_t kUnits = kBasePage / kUnit;

  SharedPage(StreamId page_stream, TagId page_tag);

  // What the next slab of a class has, when those before it have `held` bytes; a base page is a page of its own.
  static Bytes part_bytes(SizeClass size_class, Bytes held);

  const StreamId stream;  // key of the stream all of its blocks are for

  // The slab whose part has this byte of the page; null where none was cut yet.
  Slab* slab_at(Bytes offset) const { return slabs_[offset / kUnit].load(std::memory_order_acquire); }
  // Of all slots that there may be.
  std::span<const BlockWord> words() const { return {lines_.front().words.data(), lines_.size() * Slab::kLineSlots}; }
  // Behind the last part.
  Bytes room() const { return kUnit * (kUnits - cut_); }
  // Of all parts, in their order.
  std::vector<Slab*> slabs() const;
  // The next part, of so many bytes. REQUIRES: `run` is set, bytes are units, at most room().
  std::unique_ptr<Slab> cut(SizeClass size_class, Bytes bytes);

  // One of its slabs has its first slot in use, or its last one came back. True for the first, or last, of all.
  bool note_used() { return used_.fetch_add(1) == 0; }
  bool note_unused() { return used_.fetch_sub(1) == 1; }
  bool is_unused() const { return used_.load() == 0; }

 private:
  static constexpr std::uint32_t kUnitLines = kUnit / (kBlockAlignment * Slab::kLineSlots);

  std::vector<Slab::Line> lines_;  // of each unit as many as it may need
  std::array<std::atomic<Slab*>, kUnits> slabs_{};
  std::uint32_t cut_ = 0;               // units
  std::atomic<std::uint32_t> used_{0};  // slabs with a slot in use
};

}  // namespace tessera
