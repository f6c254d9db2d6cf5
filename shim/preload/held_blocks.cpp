#include "held_blocks.hpp"

#include <algorithm>

#include "capture.hpp"
#include "green_contexts.hpp"
#include "lifecycle.hpp"
#include "outcome.hpp"
#include "outside_words.hpp"
#include "pointer_tables.hpp"
#include "program_pools.hpp"
#include "several_devices.hpp"
#include "true_driver.hpp"

namespace tessera::preload {

std::vector<CUdeviceptr> blocks_of(std::span<const std::uint64_t> words) {
  std::vector<CUdeviceptr> blocks;
  tessera_allocator* const allocator = running();
  const Entry entry;
  if (allocator == nullptr || entry.nested()) return blocks;
  for (const std::uint64_t word : words) {
    tessera_block_info info{};
    info.size = sizeof(info);
    if (tessera_query(allocator, word, &info) == TESSERA_OK) blocks.push_back(info.address);
  }
  std::sort(blocks.begin(), blocks.end());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  return blocks;
}

void HeldBlocks::hold(std::span<const CUdeviceptr> blocks) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const CUdeviceptr block : blocks) ++blocks_[block].graphs;
  count_.store(blocks_.size());
}

void HeldBlocks::let_go(std::span<const CUdeviceptr> blocks) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const CUdeviceptr block : blocks) {
      const auto held = blocks_.find(block);
      if (held == blocks_.end() || held->second.graphs == 0) continue;
      if (--held->second.graphs == 0 && !held->second.freed) blocks_.erase(held);
    }
    count_.store(blocks_.size());
  }
  free_due();
}

bool HeldBlocks::put_off_free(CUdeviceptr address, CUresult& result) {
  if (count_.load() == 0 && !any_capture()) return false;
  const std::uint64_t word = address;
  const std::vector<CUdeviceptr> live = blocks_of({&word, 1});
  if (live.empty() || live.front() != address) return false;  // an error, reported as usual
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto held = blocks_.find(address);
  if (held == blocks_.end() && !any_capture()) return false;
  Held& block = held != blocks_.end() ? held->second : blocks_[address];
  result = block.freed ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  block.freed = true;
  count_.store(blocks_.size());
  return true;
}

std::vector<CUdeviceptr> HeldBlocks::take_due() {
  std::vector<CUdeviceptr> due;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto held = blocks_.begin(); held != blocks_.end();) {
    if (!held->second.freed || held->second.graphs != 0) {
      ++held;
      continue;
    }
    due.push_back(held->first);
    held = blocks_.erase(held);
  }
  count_.store(blocks_.size());
  return due;
}

void HeldBlocks::put_back(std::span<const CUdeviceptr> due) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const CUdeviceptr block : due) blocks_[block].freed = true;
  count_.store(blocks_.size());
}

void HeldBlocks::free_due() {
  if (count_.load() == 0 || any_capture()) return;
  tessera_allocator* const allocator = running();
  const Entry entry;
  if (allocator == nullptr || entry.nested()) return;
  const std::vector<CUdeviceptr> due = take_due();
  if (due.empty()) return;
  // A graph may still be running when its executable is destroyed.
  const InPrimary in_primary;
  if (call_true(&TrueDriver::cuCtxSynchronize) != CUDA_SUCCESS) return put_back(due);
  for (const CUdeviceptr block : due) {
    if (finish_elsewhere(block) != CUDA_SUCCESS) {
      put_back({&block, 1});
      continue;
    }
    forget_tables_of(block);
    (void)program_pools().forget_block(block);
    if (outside_words().any()) outside_words().forget_block(block);
    (void)cuda_result_said(tessera_free(allocator, block, TESSERA_NO_STREAM), "cuMemFree");
  }
}

void HeldBlocks::forget_all() {
  const std::lock_guard<std::mutex> lock(mutex_);
  blocks_.clear();
  count_.store(0);
}

HeldBlocks& held_blocks() {
  // Never destroyed: programs destroy their graphs in exit handlers.
  static HeldBlocks& blocks = *new HeldBlocks;
  return blocks;
}

}  // namespace tessera::preload
