// Addresses that copies have put outside the heap: into globals and constants of modules, memory of the driver's own.
//
// No launch shows the use of such an address, so its block is kept in device memory, from before the copy until the
// place is written over, or the block is freed. Programs write such places anew for each launch (Kokkos' constant
// memory, kokkos#606): what was named before may leave then, behind the work that was queued before.
//
// Thread safety: any thread; an OutsideChange belongs to one. A program without such places pays one load per free
// and per copy to outside the heap.
//
// Bounds: kMostPlaces places are remembered; the blocks that further ones name stay until they are freed.
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

// A word that a copy puts at `place`.
struct OutsideWord {
  CUdeviceptr place;
  CUdeviceptr value;
  CUdeviceptr block;  // that holds it: its first byte
  bool doubtful;      // it may be no address: the copy does not fail for it
};

class OutsideWords {
 public:
  static constexpr std::size_t kMostPlaces = 1 << 16;

  bool any() const { return places_held_.load(std::memory_order_relaxed) != 0; }

  // These bytes hold no address of ours any more.
  void forget(CUdeviceptr begin, std::size_t bytes);
  // The block is about to be freed.
  void forget_block(CUdeviceptr block);
  void forget_all();

 private:
  friend class OutsideChange;
  using Places = std::map<CUdeviceptr, CUdeviceptr>;  // place -> block

  // Takes out what lies in these bytes, also in part.
  Places take(CUdeviceptr begin, std::size_t bytes);
  // At the place, or at a byte behind it where another word may still be in it. False when there are too many.
  bool put(CUdeviceptr place, CUdeviceptr block);
  bool is_named(CUdeviceptr block);

  std::atomic<std::size_t> places_held_{0};
  std::mutex mutex_;
  Places places_;
  std::set<std::pair<CUdeviceptr, CUdeviceptr>> by_block_;  // (block, place)
  std::set<CUdeviceptr> kept_;                              // blocks, once each
};

// The process's one.
OutsideWords& outside_words();

// A copy that writes outside the heap: what it names is kept from prepare() on. made() says that the driver has taken
// the copy: what was named there before is let go then. Without it nothing has changed.
class OutsideChange {
 public:
  OutsideChange() = default;
  ~OutsideChange();
  OutsideChange(const OutsideChange&) = delete;
  OutsideChange& operator=(const OutsideChange&) = delete;

  // `bytes` are those that are written over for sure: 0 for a copy that may not be made after all.
  void prepare(CUdeviceptr to, std::size_t bytes, std::vector<OutsideWord> words);
  // OUT_OF_MEMORY where a block cannot stay: then the copy must not be made.
  CUresult status() const { return status_; }
  void made();

 private:
  bool keep_all(bool is_last_try);

  CUdeviceptr to_ = 0;
  std::size_t bytes_ = 0;
  std::vector<OutsideWord> words_;
  std::set<CUdeviceptr> kept_;   // for these, not taken over by the places yet
  OutsideWords::Places before_;  // taken out to make room
  CUresult status_ = CUDA_SUCCESS;
};

}  // namespace tessera::preload
