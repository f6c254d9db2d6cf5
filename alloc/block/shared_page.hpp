// A base page divided into slabs of several classes, all for one stream and tag.
//
// A program has few blocks of most classes, and a page for each class would hold memory that must move when
// memory is short: 55 MiB of the 3 GB of a ResNet-50 (docs/decisions/0025). So the first slabs of a class are
// parts of pages. Each has as many bytes as the class's previous slabs together, until the next one is a whole
// page.
//
// Parts are contiguous from the start of the page and keep their bounds as long as the page exists. So the
// table that maps a byte to its slab only grows, and a look-up reads it without a lock.
//
// Thread safety: all functions from any thread, except cut() and room(), which require the lock of the page's
// owner.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "block/slab.hpp"

namespace tessera {

class SharedPage : public BlockOwner {
 public:
  static constexpr Bytes kUnit = 64_KiB;  // a part is a whole number of these
  static constexpr std::uint32_t kUnits = kBasePage / kUnit;

  SharedPage(StreamId page_stream, TagId page_tag);

  // The size of a class's next slab, if its previous ones have `held` bytes; a base page means a page of its
  // own.
  static Bytes part_bytes(SizeClass size_class, Bytes held);

  const StreamId stream;  // key of the stream that all of its blocks serve

  // The slab that contains this byte of the page; null if no part was cut there yet.
  Slab* slab_at(Bytes offset) const { return slabs_[offset / kUnit].load(std::memory_order_acquire); }
  // The words of all slots that may exist.
  std::span<const BlockWord> words() const { return {lines_.front().words.data(), lines_.size() * Slab::kLineSlots}; }
  // The space behind the last part.
  Bytes room() const { return kUnit * (kUnits - cut_); }
  // The slabs of all parts, in address order.
  std::vector<Slab*> slabs() const;
  // Cuts the next part. REQUIRES: `run` is set, `bytes` is a multiple of kUnit and at most room().
  std::unique_ptr<Slab> cut(SizeClass size_class, Bytes bytes);

  // The first slot of one of its slabs was taken, or the last one came back. Returns true if it is the page's
  // first, or last.
  bool note_used() { return used_.fetch_add(1) == 0; }
  bool note_unused() { return used_.fetch_sub(1) == 1; }
  bool is_unused() const { return used_.load() == 0; }

 private:
  static constexpr std::uint32_t kUnitLines = kUnit / (kBlockAlignment * Slab::kLineSlots);

  std::vector<Slab::Line> lines_;  // for each unit the maximum it may need
  std::array<std::atomic<Slab*>, kUnits> slabs_{};
  std::uint32_t cut_ = 0;               // units
  std::atomic<std::uint32_t> used_{0};  // slabs with a slot in use
};

}  // namespace tessera
