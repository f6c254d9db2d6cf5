// The part of PyTorch's allocator interface that the listener uses, under the same names, for tests without PyTorch:
// what happens to segments and blocks is told in entries of a trace. stand_in.cpp has an allocator behind it.
//
// Thread safety: get() any thread; the rest as stand_in.cpp says.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace c10::cuda::CUDACachingAllocator {

struct TraceEntry {
  enum Action { ALLOC, FREE_REQUESTED, FREE_COMPLETED, SEGMENT_ALLOC, SEGMENT_FREE, SEGMENT_MAP, SEGMENT_UNMAP, OOM };
  Action action_;
  signed char device_;
  std::size_t addr_;
  std::size_t size_;
  void* stream_;
};
using AllocatorTraceTracker = std::function<void(const TraceEntry&)>;

struct BlockInfo {
  std::size_t size;
  bool allocated;
  bool active;  // allocated, or freed and still in use on another stream
};
struct SegmentInfo {
  std::size_t address;
  std::size_t total_size;
  std::pair<unsigned long long, unsigned long long> owner_private_pool_id;
  std::vector<BlockInfo> blocks;
};
struct SnapshotInfo {
  std::vector<SegmentInfo> segments;
};

class CUDAAllocator {
 public:
  virtual ~CUDAAllocator() = default;
  virtual bool initialized() = 0;
  virtual SnapshotInfo snapshot() = 0;
  virtual void attachAllocatorTraceTracker(AllocatorTraceTracker tracker) = 0;
};

extern std::atomic<CUDAAllocator*> allocator;

inline CUDAAllocator* get() { return allocator.load(); }
inline SnapshotInfo snapshot() { return get()->snapshot(); }
inline void attachAllocatorTraceTracker(AllocatorTraceTracker tracker) {
  get()->attachAllocatorTraceTracker(std::move(tracker));
}

}  // namespace c10::cuda::CUDACachingAllocator
