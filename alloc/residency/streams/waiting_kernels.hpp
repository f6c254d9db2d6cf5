// The kernels that wait for the program or for other kernels, as far as known or observed.
//
// Kernels of a communication library are known from the start. Others are identified: where work on a stream does not
// end, the launches between the last fence that passed there and the next one are suspects. A single suspect is the
// waiting kernel; of several, each is from then on launched behind a fence of its own, so that the next time the kernel
// can be identified.
//
// Thread safety: every call may be made from any thread.
// Bounds: kMostKnown kernels, and the last kTrail launches while memory is short.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/epoch.hpp"
#include "base/mutex.hpp"
#include "base/units.hpp"

namespace tessera {

class WaitingKernels {
 public:
  static constexpr std::size_t kMostKnown = 64;
  static constexpr std::size_t kTrail = 1024;
  static constexpr std::size_t kMostSuspects = 8;  // of one stalled stream

  struct Known {
    bool is_suspect = false;
    Nanoseconds allowance{};  // how long to wait for it if it is not a suspect
  };

  // It waits for others; after `allowance`, work proceeds without it.
  void add(const void* work, Nanoseconds allowance);
  std::optional<Known> find(const void* work) const;
  // Whether any is known. Cheap.
  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }
  // A launch; null for a kernel without a known name.
  void note(const void* work, std::uint32_t slot, Epoch epoch);
  // Work on the slot's stream does not end: launches with epochs in (after, until] are suspects.
  void accuse(std::uint32_t slot, Epoch after, Epoch until);

 private:
  struct Entry {
    const void* work = nullptr;
    Known known;
  };
  struct Launch {
    Epoch epoch{};  // never: none
    std::uint32_t slot = 0;
    const void* work = nullptr;
  };

  Entry* entry_of(const void* work) REQUIRES_LOCK(mutex_);
  void set(const void* work, Known known) REQUIRES_LOCK(mutex_);

  mutable Mutex mutex_{LockRank::kStreams};
  std::atomic<std::size_t> count_{0};
  std::array<Entry, kMostKnown> entries_ GUARDED_BY(mutex_);  // the first count_
  std::array<Launch, kTrail> trail_ GUARDED_BY(mutex_);
  std::size_t next_ GUARDED_BY(mutex_) = 0;
};

}  // namespace tessera
