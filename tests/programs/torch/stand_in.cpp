#include "stand_in.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace c10::cuda::CUDACachingAllocator {
std::atomic<CUDAAllocator*> allocator{nullptr};
}  // namespace c10::cuda::CUDACachingAllocator

namespace torch_stand_in {
namespace {

constexpr std::size_t kGrain = 512, kGranule = std::size_t{2} << 20;

void check(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  (void)cuGetErrorName(result, &name);
  std::fprintf(stderr, "%s: %s\n", call, name != nullptr ? name : "?");
  std::exit(1);
}

std::size_t rounded(std::size_t bytes, std::size_t grain) { return (bytes + grain - 1) / grain * grain; }

}  // namespace

Allocator::Allocator(Kind kind, std::size_t segment, std::size_t reserved)
    : kind_(kind), segment_(segment), reserved_(rounded(reserved, segment)) {}

void Allocator::trace(torch::TraceEntry::Action action, CUdeviceptr address, std::size_t bytes, CUstream stream) {
  const torch::TraceEntry entry{action, 0, static_cast<std::size_t>(address), bytes, stream};
  for (const auto& tracker : trackers_) tracker(entry);
}

Allocator::Segments::iterator Allocator::segment_of(CUdeviceptr address) {
  return std::prev(segments_.upper_bound(address));
}

Allocator::Segments::iterator Allocator::add_segment(std::size_t bytes) {
  CUdeviceptr address = 0;
  if (kind_ == Kind::kExpandable) {
    check(cuMemAddressReserve(&address, reserved_, 0, 0, 0), "cuMemAddressReserve");
    return segments_.emplace(address, Segment{0, pool_, {}, {}}).first;
  }
  const std::size_t taken = std::max(rounded(bytes, kGranule), segment_);
  check(cuMemAlloc(&address, taken), "cuMemAlloc");
  const auto made = segments_.emplace(address, Segment{taken, pool_, {}, {}}).first;
  made->second.blocks[address] = {taken, 0, nullptr, Block::kFree};
  trace(torch::TraceEntry::SEGMENT_ALLOC, address, taken, nullptr);
  return made;
}

// Handles behind the last one, so that a free block at the end has that many bytes.
void Allocator::grow(Segments::iterator segment, std::size_t bytes) {
  auto& [address, grown] = *segment;
  const std::size_t before = grown.bytes;
  std::size_t free = 0;
  if (!grown.blocks.empty() && grown.blocks.rbegin()->second.state == Block::kFree) {
    free = grown.blocks.rbegin()->second.bytes;
  }
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  const std::size_t first = grown.handles.size();
  const std::size_t more = rounded(bytes - free, segment_) / segment_;
  for (std::size_t i = 0; i < more; ++i) {
    check(cuMemCreate(&grown.handles.emplace_back(), segment_, &properties, 0), "cuMemCreate");
  }
  for (std::size_t i = first; i < grown.handles.size(); ++i) {
    check(cuMemMap(address + i * segment_, segment_, 0, grown.handles[i], 0), "cuMemMap");
  }
  CUmemAccessDesc access{};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  check(cuMemSetAccess(address + before, more * segment_, &access, 1), "cuMemSetAccess");
  grown.bytes += more * segment_;
  trace(torch::TraceEntry::SEGMENT_MAP, address + before, more * segment_, nullptr);
  const auto block = grown.blocks.emplace(address + before, Block{more * segment_, 0, nullptr, Block::kFree}).first;
  join(grown, block);
}

CUdeviceptr Allocator::allocate(std::size_t bytes, CUstream stream) {
  const std::lock_guard<std::recursive_mutex> lock(lock_);
  const std::size_t taken = rounded(bytes, kGrain);
  for (;;) {
    Segments::iterator last = segments_.end();
    for (auto segment = segments_.begin(); segment != segments_.end(); ++segment) {
      if (segment->second.pool != pool_) continue;
      if (segment->second.bytes + rounded(taken, segment_) <= reserved_) last = segment;
      for (auto& [address, block] : segment->second.blocks) {
        if (block.state != Block::kFree || block.bytes < taken) continue;
        if (block.bytes > taken) {
          segment->second.blocks[address + taken] = {block.bytes - taken, 0, nullptr, Block::kFree};
        }
        block = {taken, bytes, stream, Block::kAllocated};
        trace(torch::TraceEntry::ALLOC, address, bytes, stream);
        return address;
      }
    }
    if (last == segments_.end() || kind_ == Kind::kNative) last = add_segment(taken);
    if (kind_ == Kind::kExpandable) grow(last, taken);
  }
}

void Allocator::join(Segment& segment, std::map<CUdeviceptr, Block>::iterator block) {
  if (block != segment.blocks.begin() && std::prev(block)->second.state == Block::kFree) {
    const auto before = std::prev(block);
    before->second.bytes += block->second.bytes;
    segment.blocks.erase(block);
    block = before;
  }
  const auto after = std::next(block);
  if (after != segment.blocks.end() && after->second.state == Block::kFree) {
    block->second.bytes += after->second.bytes;
    segment.blocks.erase(after);
  }
}

void Allocator::give_back_block(CUdeviceptr address) {
  Segment& segment = segment_of(address)->second;
  const auto block = segment.blocks.find(address);
  trace(torch::TraceEntry::FREE_COMPLETED, address, block->second.asked, block->second.stream);
  block->second.state = Block::kFree;
  join(segment, block);
}

void Allocator::free(CUdeviceptr block, bool in_use) {
  const std::lock_guard<std::recursive_mutex> lock(lock_);
  Block& freed = segment_of(block)->second.blocks.at(block);
  trace(torch::TraceEntry::FREE_REQUESTED, block, freed.asked, freed.stream);
  freed.state = Block::kInUse;
  if (!in_use) give_back_block(block);
}

void Allocator::finish_frees() {
  const std::lock_guard<std::recursive_mutex> lock(lock_);
  std::vector<CUdeviceptr> over;
  for (const auto& [base, segment] : segments_) {
    for (const auto& [address, block] : segment.blocks) {
      if (block.state == Block::kInUse) over.push_back(address);
    }
  }
  for (const CUdeviceptr address : over) give_back_block(address);
}

void Allocator::empty_cache() {
  const std::lock_guard<std::recursive_mutex> lock(lock_);
  check(cuCtxSynchronize(), "cuCtxSynchronize");
  for (auto at = segments_.begin(); at != segments_.end();) {
    auto& [address, segment] = *at;
    if (kind_ == Kind::kExpandable) {
      const auto last = segment.blocks.empty() ? segment.blocks.end() : std::prev(segment.blocks.end());
      if (last == segment.blocks.end() || last->second.state != Block::kFree) {
        ++at;
        continue;
      }
      const std::size_t keep = rounded(static_cast<std::size_t>(last->first - address), segment_);
      const std::size_t before = segment.bytes;
      while (segment.bytes > keep) {
        segment.bytes -= segment_;
        check(cuMemUnmap(address + segment.bytes, segment_), "cuMemUnmap");
        check(cuMemRelease(segment.handles.back()), "cuMemRelease");
        segment.handles.pop_back();
      }
      if (before > keep) trace(torch::TraceEntry::SEGMENT_UNMAP, address + keep, before - keep, nullptr);
      const std::size_t left = static_cast<std::size_t>(address + keep - last->first);
      if (left == 0) {
        segment.blocks.erase(last);
      } else {
        last->second.bytes = left;
      }
      ++at;
    } else if (segment.blocks.size() == 1 && segment.blocks.begin()->second.state == Block::kFree) {
      trace(torch::TraceEntry::SEGMENT_FREE, address, segment.bytes, nullptr);
      check(cuMemFree(address), "cuMemFree");
      at = segments_.erase(at);
    } else {
      ++at;
    }
  }
}

void Allocator::set_private_pool(unsigned long long number) {
  const std::lock_guard<std::recursive_mutex> lock(lock_);
  pool_ = number;
}

void Allocator::say_falsely(torch::TraceEntry::Action action, CUdeviceptr address, std::size_t bytes) {
  const std::lock_guard<std::recursive_mutex> lock(lock_);
  trace(action, address, bytes, nullptr);
}

torch::SnapshotInfo Allocator::snapshot() {
  const std::lock_guard<std::recursive_mutex> lock(lock_);
  torch::SnapshotInfo result;
  for (const auto& [address, segment] : segments_) {
    torch::SegmentInfo info{static_cast<std::size_t>(address), segment.bytes, {segment.pool, 0}, {}};
    for (const auto& [at, block] : segment.blocks) {
      info.blocks.push_back({block.bytes, block.state == Block::kAllocated, block.state != Block::kFree});
    }
    result.segments.push_back(std::move(info));
  }
  return result;
}

void Allocator::attachAllocatorTraceTracker(torch::AllocatorTraceTracker tracker) {
  const std::lock_guard<std::recursive_mutex> lock(lock_);
  trackers_.push_back(std::move(tracker));
}

}  // namespace torch_stand_in
