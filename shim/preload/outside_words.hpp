// Addresses that copies have stored outside the heap: in module globals and constants, and in the driver's own memory.
//
// No launch shows the use of such an address, so its block is kept in device memory, from before the copy until the
// place is overwritten or the block is freed. Some programs rewrite such places for each launch (Kokkos' constant
// memory, kokkos#606): the blocks named before become evictable then, after the work queued before.
//
// Thread safety: any thread; an OutsideChange object belongs to one thread. A program without such places pays one load
// per free and per copy to outside the heap.
//
// Bounds: kMostPlaces places are remembered; blocks named by further ones stay until they are freed.
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "cuda_api.hpp"

namespace tessera::preload {

// A word that a copy stores at `place`.
struct OutsideWord {
  CUdeviceptr place;
  CUdeviceptr value;
  CUdeviceptr block;  // first byte of the block that contains `value`
  bool doubtful;      // it may not be an address: the copy does not fail because of it
};

class OutsideWords {
 public:
  static constexpr std::size_t kMostPlaces = 1 << 16;

  bool any() const { return places_held_.load(std::memory_order_relaxed) != 0; }

  // These bytes no longer contain a managed address.
  void forget(CUdeviceptr begin, std::size_t bytes);
  // The block is about to be freed.
  void forget_block(CUdeviceptr block);
  void forget_all();

 private:
  friend class OutsideChange;
  using Places = std::map<CUdeviceptr, CUdeviceptr>;  // place -> block

  // Removes and returns the places in these bytes, including partly overlapping ones.
  Places take(CUdeviceptr begin, std::size_t bytes);
  // Stores at the place, or at a byte after it where another word may still overlap it. False if there are too many
  // places.
  bool put(CUdeviceptr place, CUdeviceptr block);
  bool is_named(CUdeviceptr block);

  std::atomic<std::size_t> places_held_{0};
  std::mutex mutex_;
  Places places_;
  std::set<std::pair<CUdeviceptr, CUdeviceptr>> by_block_;  // (block, place)
  std::set<CUdeviceptr> kept_;                              // blocks, each once
};

// The instance of this process.
OutsideWords& outside_words();

// A copy that writes outside the heap. Blocks that it names are kept from prepare() on. made() confirms that the driver
// has accepted the copy, and releases the blocks named there before. Without made() nothing changes.
class OutsideChange {
 public:
  OutsideChange() = default;
  ~OutsideChange();
  OutsideChange(const OutsideChange&) = delete;
  OutsideChange& operator=(const OutsideChange&) = delete;

  // `bytes` are overwritten for certain: 0 for a copy that may not happen after all.
  void prepare(CUdeviceptr to, std::size_t bytes, std::vector<OutsideWord> words);
  // OUT_OF_MEMORY if a block cannot stay: then do not make the copy.
  CUresult status() const { return status_; }
  void made();

 private:
  bool cancel_evictions(bool is_last_try);

  CUdeviceptr to_ = 0;
  std::size_t bytes_ = 0;
  std::vector<OutsideWord> words_;
  std::set<CUdeviceptr> kept_;   // kept for these words, not transferred to the places yet
  OutsideWords::Places before_;  // places removed to make room
  CUresult status_ = CUDA_SUCCESS;
};

}  // namespace tessera::preload
