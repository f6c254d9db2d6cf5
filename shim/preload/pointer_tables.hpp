// Tables of pointers in device memory: which blocks hold addresses of which others.
//
// A kernel that is given the address of a table reaches what the table names, and its parameters do
// not show it (batched matrix products do this). The words of a table can be seen when the program
// copies them there, so they are remembered by the place where each lies, until that place is
// overwritten or freed: whoever uses the block that holds them uses what they name.
//
// Thread safety: any thread. A program that has no tables pays one load per launch.
// Invariants: every entry lies in a holder; a holder has at least one.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <shared_mutex>

#include "cuda_api.hpp"
#include "found_words.hpp"

namespace tessera::preload {

class PointerTables {
 public:
  bool any() const { return entries_held_.load(std::memory_order_relaxed) != 0; }

  // The word at `place`, in the block [block, block + bytes), is now `pointee`.
  // False when there are too many to remember one more.
  bool add(CUdeviceptr place, CUdeviceptr pointee, CUdeviceptr block, std::size_t bytes);
  // Nothing is known of these bytes any more.
  void forget(CUdeviceptr begin, std::size_t bytes);
  // The block is about to be freed.
  void forget_block(CUdeviceptr block);
  void forget_all();
  // Calls each(offset from `begin`, pointee) for what is remembered of these bytes. `each` must not
  // come back here.
  template <class Each>
  void visit(CUdeviceptr begin, std::size_t bytes, Each each) const {
    const std::shared_lock<std::shared_mutex> lock(mutex_);
    const auto end = entries_.lower_bound(begin + bytes);
    for (auto at = entries_.lower_bound(begin); at != end; ++at) each(at->first - begin, at->second);
  }

  // Adds what the words' blocks hold, and what those hold, and so on.
  void add_pointees(FoundWords& found) const;

 private:
  static constexpr std::size_t kMostEntries = 1 << 20;
  static constexpr std::size_t kPageBits = 21;
  static constexpr std::size_t kPages = 4096;

  // Whether a holder may have this byte: tells nearly all other words away.
  std::atomic<bool>& page_of(CUdeviceptr address) const {
    return pages_[(address >> kPageBits) % kPages];
  }
  void erase(CUdeviceptr begin, CUdeviceptr end);
  void note_count();

  mutable std::shared_mutex mutex_;
  std::map<CUdeviceptr, CUdeviceptr> entries_;  // place -> pointee
  std::map<CUdeviceptr, CUdeviceptr> holders_;  // first byte -> end
  std::atomic<std::size_t> entries_held_{0};
  mutable std::array<std::atomic<bool>, kPages> pages_{};  // cleared when no table is left
};

// The process's one.
PointerTables& pointer_tables();

}  // namespace tessera::preload
