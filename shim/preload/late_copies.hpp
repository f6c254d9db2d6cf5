// Copies from pinned memory that work queued before them still fills: what they store is known when that work is over.
//
// A copy from pinned memory reads it when it runs. Until then two kinds of work that we see may write it:
//  - a copy from a table on the device: what that table holds is known, so it counts as soon as the memory is copied
//  on.
//  - a host function. Such copies are read again at the next launches, until no host function that was queued before
//  them
//    is left. A launch that is given a place in what they wrote, or that may read a global which they wrote, waits for
//    these functions, but no longer than kPatience: they may wait for what the program does next. After kMostInVain
//    waits that brought nothing to light none is made any more, until a copy shows something that was not there before.
//
// Thread safety: any thread. A program without them pays one load per launch.
//
// Bounds: kMost copies of either kind are remembered, the newest ones.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "cuda_api.hpp"
#include "found_words.hpp"

namespace tessera::preload {

class LateCopies {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr int kMostInVain = 8;
  static constexpr std::chrono::milliseconds kPatience{1000};

  // Whether a launch has to look.
  bool any() const { return any_.load(std::memory_order_relaxed); }

  // A host function is about to be queued; finished() or forgotten() with the number that this gives.
  std::uint64_t host_function_queued();
  void host_function_over(std::uint64_t number);
  bool host_function_pending() const { return pending_.load(std::memory_order_acquire) != 0; }

  // A copy that was asked for while one was pending. `from` is pinned.
  void add(CUdeviceptr to, CUdeviceptr from, std::size_t bytes);
  // Reads what there is to read again, before a launch with these words. REQUIRES: not in a use.
  void settle(const WordSpans& words);

  // A copy from the device put these words there, as (address in host memory, word).
  using HostWords = std::vector<std::pair<CUdeviceptr, CUdeviceptr>>;
  void note_copy_back(CUdeviceptr to, std::size_t bytes, HostWords words);
  // Those that may lie in these bytes of host memory by the time that they are copied on.
  HostWords copied_back(CUdeviceptr from, std::size_t bytes);

  void forget_all();

 private:
  struct Late {
    CUdeviceptr to, from;
    std::size_t bytes;
    std::uint64_t newest;  // host function before it
    bool waited = false;
  };
  struct Back {
    CUdeviceptr to;
    std::size_t bytes;
    HostWords words;
  };

  bool is_over(const Late& late) const { return functions_.empty() || *functions_.begin() > late.newest; }

  std::mutex mutex_;
  std::condition_variable function_over_;
  std::set<std::uint64_t> functions_;  // not over yet
  std::uint64_t numbers_ = 0;
  std::deque<Late> late_;
  std::deque<Back> backs_;
  int in_vain_ = 0;
  std::atomic<std::size_t> pending_{0};
  std::atomic<bool> any_{false};
  std::atomic<bool> any_back_{false};
};

// The process's one.
LateCopies& late_copies();

}  // namespace tessera::preload
