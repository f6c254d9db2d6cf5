// Tables of pointers in device memory: which places hold addresses of which blocks.
//
// A kernel that is given the address of a table reaches what the table names, and its parameters do
// not show it (batched matrix products do this). The words of a table can be seen when the program
// copies them there, so they are remembered by the place where each lies, until that place is
// overwritten, or a block is freed: the one it lies in, or the one that it names.
//
// A kernel need not use all of a table, and frameworks cut many small tensors out of one block, so a launch that uses
// the block need not use the tables in it. What tables name comes as far as it fits, then, in this order. What copies
// wrote without a gap is a *stretch*; a word of a launch is near a stretch that it points into, and near all stretches
// of a block below kShared.
//  1. Near stretches: what lies at the word and behind it, then what lies before it.
//  2. Words of the launch that may be no addresses.
//  3. Near stretches that are *passed*: a launch before was given a word at or before them, in their block, so its
//     kernel may have written over them.
//  4. The other stretches of the same blocks: those that begin closest behind a word first.
//
// Thread safety: any thread. A program that has no tables pays one load per launch.
// Invariants: every entry lies in a stretch, and every stretch in a holder; each has at least one entry.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <shared_mutex>
#include <utility>

#include "cuda_api.hpp"
#include "found_words.hpp"

namespace tessera::preload {

class PointerTables {
 public:
  // A block below it is one thing of the program's: frameworks cut up blocks of 2 MiB and more.
  static constexpr std::size_t kShared = 1 << 20;

  bool any() const { return entries_held_.load(std::memory_order_relaxed) != 0; }

  // The word at `place`, in the block [block, block + bytes), is now `pointee`.
  // False when there are too many to remember one more.
  bool add(CUdeviceptr place, CUdeviceptr pointee, CUdeviceptr block, std::size_t bytes);
  // The same for a word that may be there now, beside those that were.
  bool add_beside(CUdeviceptr place, CUdeviceptr pointee, CUdeviceptr block, std::size_t bytes);
  // A copy wrote these bytes as one piece. REQUIRES: all in one block; an entry in them was added.
  void join(CUdeviceptr begin, std::size_t bytes);
  // Nothing is known of these bytes any more.
  void forget(CUdeviceptr begin, std::size_t bytes);
  // The block [block, block + bytes) is about to be freed.
  void forget_block(CUdeviceptr block, std::size_t bytes);
  void forget_all();
  // Calls each(offset from `begin`, pointee) for what is remembered of these bytes. `each` must not
  // come back here.
  template <class Each>
  void visit(CUdeviceptr begin, std::size_t bytes, Each each) const {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    const auto end = entries_.lower_bound(begin + bytes);
    for (auto at = entries_.lower_bound(begin); at != end; ++at) each(at->first - begin, at->second);
  }
  // The same of stretches, as each(offset from `begin`, bytes): what of them lies in these bytes.
  template <class Each>
  void visit_stretches(CUdeviceptr begin, std::size_t bytes, Each each) const {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    for (auto at = stretch_at_or_behind(begin); at != stretches_.end() && at->first < begin + bytes; ++at) {
      const CUdeviceptr from = at->first < begin ? begin : at->first;
      const CUdeviceptr to = at->second.end < begin + bytes ? at->second.end : begin + bytes;
      each(from - begin, to - from);
    }
  }

  // Adds to what may be needed what the words' blocks hold, and what those hold, and so on.
  void add_pointees(Words& words) const;

 private:
  friend class PointerTableWalk;

  static constexpr std::size_t kMostEntries = 1 << 20;
  static constexpr std::size_t kPageBits = 21;
  static constexpr std::size_t kPages = 4096;

  struct Stretch {
    CUdeviceptr end = 0;
    mutable std::atomic<bool> passed{false};  // a launch was given a word at or before it, in its block
  };
  using Stretches = std::map<CUdeviceptr, Stretch>;

  // Whether a holder may have this byte: tells nearly all other words away.
  std::atomic<bool>& page_of(CUdeviceptr address) const { return pages_[(address >> kPageBits) % kPages]; }
  // The first that ends behind `address`.
  Stretches::const_iterator stretch_at_or_behind(CUdeviceptr address) const;
  bool add_locked(CUdeviceptr place, CUdeviceptr pointee, CUdeviceptr block, std::size_t bytes);
  bool has_entries(CUdeviceptr begin, CUdeviceptr end) const;
  void put_stretch(CUdeviceptr begin, CUdeviceptr end, bool passed);
  void join_locked(CUdeviceptr begin, CUdeviceptr end);
  void cut_stretches(CUdeviceptr begin, CUdeviceptr end);
  void erase_entries(CUdeviceptr begin, CUdeviceptr end);
  void erase(CUdeviceptr begin, CUdeviceptr end);
  void note_count();

  mutable std::shared_mutex mutex_;
  std::map<CUdeviceptr, CUdeviceptr> entries_;            // place -> pointee
  std::set<std::pair<CUdeviceptr, CUdeviceptr>> places_;  // (pointee, place)
  Stretches stretches_;                                   // first byte -> the rest
  std::map<CUdeviceptr, CUdeviceptr> holders_;            // first byte -> end
  std::atomic<std::size_t> entries_held_{0};
  mutable std::array<std::atomic<bool>, kPages> pages_{};  // cleared when no table is left
};

// The process's one.
PointerTables& pointer_tables();

// The block that begins there is about to be freed.
void forget_tables_of(CUdeviceptr block);

}  // namespace tessera::preload
