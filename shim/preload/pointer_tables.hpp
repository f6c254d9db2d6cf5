// Tables of pointers in device memory: which places contain addresses of which blocks.
//
// A kernel that is given the address of a table reaches the blocks that the table names, and its parameters do not show
// them (batched matrix products do this). The words of a table are visible when the program copies them to the device,
// so each is remembered by its place, until that place is overwritten, or the block that contains it or the block that
// it names is freed.
//
// A kernel need not use all of a table, and frameworks cut many small tensors out of one block, so a launch that uses
// the block need not use the tables in it. Blocks named by tables are therefore fetched as far as they fit, in the
// order below. The bytes that copies wrote without a gap form a *stretch*. A word of a launch is near a stretch that it
// points into, and near all stretches of a block smaller than kShared.
// 1. Near stretches: first the entries at and after the word, then those before it.
// 2. Uncertain words of the launch.
// 3. Near stretches that are *passed*: an earlier launch was given a word at or before them, in their block, so its
//    kernel may have overwritten them.
// 4. The other stretches of the same blocks: those that begin closest after a word first.
//
// Thread safety: any thread. A program without tables pays one load per launch.
// Invariants: every entry is in a stretch, and every stretch in a holder; each of them has an entry.
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
  // A smaller block counts as a single object of the program: frameworks split blocks of 2 MiB and more.
  static constexpr std::size_t kShared = 1 << 20;

  bool any() const { return entries_held_.load(std::memory_order_relaxed) != 0; }

  // The word at `place`, in the block [block, block + bytes), is now `pointee`. False if there are too many entries.
  bool add(CUdeviceptr place, CUdeviceptr pointee, CUdeviceptr block, std::size_t bytes);
  // The same for a word that may be there now, in addition to earlier ones.
  bool add_beside(CUdeviceptr place, CUdeviceptr pointee, CUdeviceptr block, std::size_t bytes);
  // A copy wrote these bytes as one piece. REQUIRES: all in one block; an entry within them was added.
  void join(CUdeviceptr begin, std::size_t bytes);
  // The contents of these bytes are no longer known.
  void forget(CUdeviceptr begin, std::size_t bytes);
  // The block [block, block + bytes) is about to be freed.
  void forget_block(CUdeviceptr block, std::size_t bytes);
  void forget_all();
  // Calls each(offset from `begin`, pointee) for the entries in these bytes. `each` must not call this object.
  template <class Each>
  void visit(CUdeviceptr begin, std::size_t bytes, Each each) const {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    const auto end = entries_.lower_bound(begin + bytes);
    for (auto at = entries_.lower_bound(begin); at != end; ++at) each(at->first - begin, at->second);
  }
  // The same for stretches, as each(offset from `begin`, bytes), clipped to these bytes.
  template <class Each>
  void visit_stretches(CUdeviceptr begin, std::size_t bytes, Each each) const {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    for (auto at = stretch_at_or_behind(begin); at != stretches_.end() && at->first < begin + bytes; ++at) {
      const CUdeviceptr from = at->first < begin ? begin : at->first;
      const CUdeviceptr to = at->second.end < begin + bytes ? at->second.end : begin + bytes;
      each(from - begin, to - from);
    }
  }

  // Adds, as uncertain words, what the tables in the words' blocks name, and the tables in those blocks, and so on.
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

  // Whether a holder may contain this byte; rules out nearly all other words.
  std::atomic<bool>& page_of(CUdeviceptr address) const { return pages_[(address >> kPageBits) % kPages]; }
  // The first stretch that ends behind `address`.
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
  mutable std::array<std::atomic<bool>, kPages> pages_{};  // cleared when the last table is gone
};

// The instance of this process.
PointerTables& pointer_tables();

// The block that begins there is about to be freed.
void forget_tables_of(CUdeviceptr block);

}  // namespace tessera::preload
