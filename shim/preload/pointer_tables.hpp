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
// points into, and near all stretches of a block smaller than kSharedBlock.
// 1. Near stretches: first the entries at and after the word, then those before it.
// 2. Uncertain words of the launch.
// 3. Near stretches that are *passed*: an earlier launch was given a word at or before them, in their block, so its
//    kernel may have overwritten them.
// 4. The other stretches of the same blocks: those that begin closest after a word first.
//
// Thread safety: any thread. A program without tables pays one load per launch.
// Invariants: every entry is in a stretch, and every stretch in a holder; each of them has an entry.
#pragma once

#include <atomic>
#include <cstddef>
#include <shared_mutex>

#include "cuda_api.hpp"
#include "found_words.hpp"
#include "launch_facts.hpp"
#include "pointer_entries.hpp"
#include "pointer_stretches.hpp"
#include "table_holders.hpp"

namespace tessera::preload {

class PointerTables {
 public:
  // `any` becomes whether there are entries. REQUIRES: it outlives this.
  explicit PointerTables(std::atomic<bool>& any) : any_(any) {}

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
    entries_.visit(begin, begin + bytes, [&](CUdeviceptr place, CUdeviceptr pointee) { each(place - begin, pointee); });
  }
  // The same for stretches, as each(offset from `begin`, bytes), clipped to these bytes.
  template <class Each>
  void visit_stretches(CUdeviceptr begin, std::size_t bytes, Each each) const {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    stretches_.for_each(begin, begin + bytes, [&](PointerStretches::At at) {
      const CUdeviceptr from = at->first < begin ? begin : at->first;
      const CUdeviceptr to = at->second.end < begin + bytes ? at->second.end : begin + bytes;
      each(from - begin, to - from);
    });
  }

  // Adds, as uncertain words, what the tables in the words' blocks name, and the tables in those blocks, and so on.
  void add_pointees(Words& words) const;

 private:
  static constexpr std::size_t kMostEntries = 1 << 20;

  bool add_locked(CUdeviceptr place, CUdeviceptr pointee, CUdeviceptr block, std::size_t bytes);
  void erase(CUdeviceptr begin, CUdeviceptr end);
  void note_count();

  mutable std::shared_mutex mutex_;
  PointerEntries entries_;
  PointerStretches stretches_;
  TableHolders holders_;
  std::atomic<bool>& any_;
};

// The instance of this process.
PointerTables& pointer_tables();
// Whether it holds any.
inline bool any_pointer_tables() { return detail::launch_facts.pointer_tables.load(std::memory_order_relaxed); }

// The block that begins there is about to be freed.
void forget_tables_of(CUdeviceptr block);

}  // namespace tessera::preload
