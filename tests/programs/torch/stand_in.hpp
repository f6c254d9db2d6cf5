// An allocator that makes driver calls and trace entries in the order in which PyTorch's native one does (documented in
// pytorch/pytorch c10/cuda/CUDACachingAllocator.h, and seen in its memory snapshots).
//
// It cuts segments of one driver call each (cuMemAlloc), or one segment of handles that are mapped one behind the other
// (expandable). Blocks that are freed join free neighbours. A block that another stream uses is freed later.
//
// Thread safety: any thread. Its lock is held during every driver call and every call of a tracker.
#pragma once

#include <cuda.h>

#include <map>
#include <mutex>
#include <vector>

#include "c10/cuda/CUDACachingAllocator.h"

namespace torch_stand_in {

namespace torch = c10::cuda::CUDACachingAllocator;

class Allocator : public torch::CUDAAllocator {
 public:
  enum class Kind { kNative, kExpandable };
  // `segment`: the least that is taken from the driver at once; `reserved`: addresses of an expandable segment.
  Allocator(Kind kind, std::size_t segment, std::size_t reserved);

  CUdeviceptr allocate(std::size_t bytes, CUstream stream = nullptr);
  // `in_use`: on another stream; it is over when finish_frees() is called.
  void free(CUdeviceptr block, bool in_use = false);
  void finish_frees();
  // Returns what no block is in to the driver: all of a native segment, and handles at the end of the expandable one.
  void empty_cache();
  // A pool of a graph has segments of its own, of the same kind.
  void set_private_pool(unsigned long long number);

  bool initialized() override { return true; }
  // An entry of which nothing is true.
  void say_falsely(torch::TraceEntry::Action action, CUdeviceptr address, std::size_t bytes);
  torch::SnapshotInfo snapshot() override;
  void attachAllocatorTraceTracker(torch::AllocatorTraceTracker tracker) override;

 private:
  struct Block {
    std::size_t bytes, asked;
    CUstream stream;
    enum { kFree, kAllocated, kInUse } state;
  };
  struct Segment {
    std::size_t bytes;
    unsigned long long pool;
    std::vector<CUmemGenericAllocationHandle> handles;  // of an expandable one
    std::map<CUdeviceptr, Block> blocks;
  };
  using Segments = std::map<CUdeviceptr, Segment>;

  void trace(torch::TraceEntry::Action action, CUdeviceptr address, std::size_t bytes, CUstream stream);
  Segments::iterator segment_of(CUdeviceptr address);
  Segments::iterator add_segment(std::size_t bytes);
  void grow(Segments::iterator segment, std::size_t bytes);
  void give_back_block(CUdeviceptr address);
  void join(Segment& segment, std::map<CUdeviceptr, Block>::iterator block);

  const Kind kind_;
  const std::size_t segment_, reserved_;
  std::recursive_mutex lock_;
  Segments segments_;
  unsigned long long pool_ = 0;
  std::vector<torch::AllocatorTraceTracker> trackers_;
};

}  // namespace torch_stand_in
