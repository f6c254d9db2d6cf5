// Pinned host memory of the program that the driver serves, and host memory that the program registers, counted for the
// statistics. Device memory is counted in outside_memory.hpp.
//
// Thread safety: any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "cuda_api.hpp"
#include "tessera/interpose.h"

namespace tessera::preload {

class DriverAmounts {
 public:
  // The driver has allocated or registered this in the current context.
  void add(tessera_beside kind, std::uint64_t address, std::uint64_t bytes);
  // It was freed or unregistered. Does nothing if it is not known as this kind.
  void remove(tessera_beside kind, std::uint64_t address);
  // Everything of this context has ended.
  void forget(CUcontext context);
  bool any(tessera_beside kind) const { return totals_[kind].load(std::memory_order_relaxed) != 0; }
  // Reports all totals to an allocator that has just started.
  void tell(tessera_allocator* allocator);

 private:
  struct Entry {
    tessera_beside kind = TESSERA_BESIDE_HOST;
    std::uint64_t bytes = 0;
    CUcontext context = nullptr;
  };

  void count(tessera_beside kind, std::uint64_t total);  // REQUIRES: lock_

  std::array<std::atomic<std::uint64_t>, TESSERA_BESIDE_KINDS> totals_{};
  std::mutex lock_;
  std::unordered_map<std::uint64_t, Entry> entries_;  // by address
};

// The instance of this process.
DriverAmounts& driver_amounts();

}  // namespace tessera::preload
