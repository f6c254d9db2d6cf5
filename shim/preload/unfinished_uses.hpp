// Uses and frees that end later, because the work before their end does not end.
//
// Why: no event of ours covers work that a stream does on blocks of another device, or on a green context's default
// stream, so the host waits for it (several_devices.hpp, green_contexts.hpp). That work may be queued behind a kernel
// that waits for the program, so the wait has a bound: after it the blocks stay in device memory, or are not freed,
// until an event recorded on the stream has passed.
//
// Thread safety: any thread. Without such uses, end_finished() costs one load.
// Bounds: one entry for each call that gave up; calls behind such work give up immediately.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "cuda_api.hpp"
#include "tessera/interpose.h"

namespace tessera::preload {

class UnfinishedUses {
 public:
  // Ends the use when the work queued on `stream` so far is over. Waits for that, at most as long as the option
  // `patience`.
  void end_after(CUstream stream, tessera_allocator* allocator, const tessera_use& use);
  // Whether that work is over, after the same wait. Errors are the program's: its next wait reports them.
  bool is_over(CUstream stream);
  // Frees the block at `address` when that work is over.
  void free_after(CUstream stream, tessera_allocator* allocator, CUdeviceptr address);
  // Ends what can be ended without waiting.
  void end_finished() {
    if (count_.load(std::memory_order_relaxed) != 0) end_those_over();
  }
  // Tessera ends: nothing is evicted any more.
  void end_all();

 private:
  struct Entry {
    CUstream stream;
    CUevent event;
    tessera_allocator* allocator;
    tessera_use use;
    CUdeviceptr to_free;  // 0: it is a use
  };

  bool is_behind_another(CUstream stream);
  void add(Entry entry);
  void end_those_over();

  std::mutex mutex_;
  std::atomic<std::size_t> count_{0};
  std::vector<Entry> entries_;
};

// The instance of this process.
UnfinishedUses& unfinished_uses();

}  // namespace tessera::preload
