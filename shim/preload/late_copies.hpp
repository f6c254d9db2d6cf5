// Copies from pinned memory that earlier queued work still writes: their contents are known only when that work is
// over.
//
// A copy from pinned memory reads it when the copy runs. Until then two kinds of visible work may write that memory:
// - A copy from a table on the device: the contents of the table are known, so they count as soon as the memory is
//   copied on.
// - A host function. Such copies are read again at the following launches, until no host function queued before them is
//   left. A launch whose words point into what they wrote, or that may read a global that they wrote, waits for these
//   functions, but at most for kPatience: a function may itself wait for the program's next call. After kMostInVain
//   waits that revealed nothing, no more waits are made until a copy reveals a new address.
//
// Thread safety: any thread. A program without such copies pays one load per launch.
//
// Bounds: of either kind the newest kMost copies are remembered.
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
#include "launch_facts.hpp"

namespace tessera::preload {

class LateCopies {
 public:
  static constexpr std::size_t kMost = 64;
  static constexpr int kMostInVain = 8;
  static constexpr std::chrono::milliseconds kPatience{1000};

  // `any` becomes whether a launch has to call settle(). REQUIRES: it outlives this.
  explicit LateCopies(std::atomic<bool>& any) : any_(any) {}

  // A host function is about to be queued. Returns the number to pass to host_function_over().
  std::uint64_t host_function_queued();
  void host_function_over(std::uint64_t number);
  bool host_function_pending() const { return pending_.load(std::memory_order_acquire) != 0; }

  // A copy was requested while a host function was pending. `from` is pinned memory.
  void add(CUdeviceptr to, CUdeviceptr from, std::size_t bytes);
  // Reads again the sources that may have changed, before a launch with these words. REQUIRES: no use is active.
  void settle(const WordSpans& words);

  // The words that a copy from the device wrote, as (address in host memory, word).
  using HostWords = std::vector<std::pair<CUdeviceptr, CUdeviceptr>>;
  void note_copy_back(CUdeviceptr to, std::size_t bytes, HostWords words);
  // The words that may be in these bytes of host memory when they are copied on.
  HostWords copied_back(CUdeviceptr from, std::size_t bytes);

  void forget_all();

 private:
  struct Late {
    CUdeviceptr to, from;
    std::size_t bytes;
    std::uint64_t newest;  // the last host function queued before the copy
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
  std::set<std::uint64_t> functions_;  // not finished yet
  std::uint64_t numbers_ = 0;
  std::deque<Late> late_;
  std::deque<Back> backs_;
  int in_vain_ = 0;
  std::atomic<std::size_t> pending_{0};
  std::atomic<bool>& any_;
  std::atomic<bool> any_back_{false};
};

// The instance of this process.
LateCopies& late_copies();
// Whether it holds any.
inline bool any_late_copies() { return detail::launch_facts.late_copies.load(std::memory_order_relaxed); }

}  // namespace tessera::preload
