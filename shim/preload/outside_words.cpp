#include "outside_words.hpp"

#include <utility>

#include "exposure.hpp"
#include "green_contexts.hpp"
#include "lifecycle.hpp"
#include "outcome.hpp"
#include "tessera/interpose.h"

namespace tessera::preload {
namespace {

constexpr const char* kReason = "pointer outside the heap";

// A block freed in the meantime is no longer kept, and need not be.
void let_go(const std::set<CUdeviceptr>& blocks) {
  tessera_allocator* const allocator = running();
  const Entry entry;
  if (allocator == nullptr || blocks.empty()) return;
  const InPrimary in_primary;
  for (const CUdeviceptr block : blocks) (void)tessera_unkeep(allocator, block);
}

}  // namespace

OutsideWords::Places OutsideWords::take(CUdeviceptr begin, std::size_t bytes) {
  Places taken;
  std::set<CUdeviceptr> unnamed;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    // A partly overwritten word is gone too.
    const CUdeviceptr first = begin < sizeof(CUdeviceptr) ? 0 : begin - (sizeof(CUdeviceptr) - 1);
    const auto last = places_.lower_bound(begin + bytes);
    for (auto at = places_.lower_bound(first); at != last; at = places_.erase(at)) {
      by_block_.erase({at->second, at->first});
      if (!is_named(at->second) && kept_.erase(at->second) != 0) unnamed.insert(at->second);
      taken.insert(*at);
    }
    places_held_.store(places_.size(), std::memory_order_relaxed);
  }
  let_go(unnamed);
  return taken;
}

bool OutsideWords::put(CUdeviceptr place, CUdeviceptr block) {
  if (places_.size() >= kMostPlaces) return false;
  const CUdeviceptr end = place + sizeof(CUdeviceptr);
  for (auto at = places_.find(place); place < end && at != places_.end(); at = places_.find(++place)) {
    if (at->second == block) return true;
  }
  if (place == end) return false;
  places_[place] = block;
  by_block_.emplace(block, place);
  places_held_.store(places_.size(), std::memory_order_relaxed);
  return true;
}

bool OutsideWords::is_named(CUdeviceptr block) {
  const auto first = by_block_.lower_bound({block, 0});
  return first != by_block_.end() && first->first == block;
}

void OutsideWords::forget(CUdeviceptr begin, std::size_t bytes) {
  if (any()) (void)take(begin, bytes);
}

void OutsideWords::forget_block(CUdeviceptr block) {
  bool was_kept = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (auto at = by_block_.lower_bound({block, 0}); at != by_block_.end() && at->first == block;) {
      places_.erase(at->second);
      at = by_block_.erase(at);
    }
    was_kept = kept_.erase(block) != 0;
    places_held_.store(places_.size(), std::memory_order_relaxed);
  }
  if (was_kept) let_go({block});
}

void OutsideWords::forget_all() {
  const std::lock_guard<std::mutex> lock(mutex_);
  places_.clear();
  by_block_.clear();
  kept_.clear();
  places_held_.store(0, std::memory_order_relaxed);
}

OutsideWords& outside_words() {
  // Never destroyed: programs copy and free from their own exit handlers.
  static OutsideWords& words = *new OutsideWords;
  return words;
}

void OutsideChange::prepare(CUdeviceptr to, std::size_t bytes, std::vector<OutsideWord> words) {
  to_ = to;
  bytes_ = bytes;
  words_ = std::move(words);
  if (words_.empty() || cancel_evictions(false)) return;
  // Releasing the blocks named by the overwritten places may make room.
  before_ = outside_words().take(to_, bytes_);
  if (cancel_evictions(true)) return;
  let_go(std::exchange(kept_, {}));
  std::vector<OutsideWord> before;
  for (const auto& [place, block] : before_) before.push_back({place, block, block, true});
  OutsideChange back;
  back.prepare(to, 0, std::move(before));
  back.made();
}

// False, with the reason in status(), if a block that has to stay cannot.
bool OutsideChange::cancel_evictions(bool is_last_try) {
  tessera_allocator* const allocator = running();
  const Entry entry;
  if (allocator == nullptr || entry.nested()) return true;
  const InPrimary in_primary;
  for (const OutsideWord& word : words_) {
    if (kept_.contains(word.block)) continue;
    const tessera_result kept = tessera_keep(allocator, word.block, kReason);
    if (kept == TESSERA_OK) {
      kept_.insert(word.block);
    } else if (kept != TESSERA_NOT_FOUND && !word.doubtful) {
      if (is_last_try) status_ = cuda_result_said(kept, kReason);
      return false;
    }
  }
  return true;
}

void OutsideChange::made() {
  OutsideWords& all = outside_words();
  if (bytes_ != 0) all.forget(to_, bytes_);
  std::vector<CUdeviceptr> beyond;
  {
    const std::lock_guard<std::mutex> lock(all.mutex_);
    for (const OutsideWord& word : words_) {
      if (!kept_.contains(word.block) && !all.kept_.contains(word.block)) continue;  // doubtful, or freed
      if (!all.put(word.place, word.block)) {
        beyond.push_back(word.value);
      } else if (all.kept_.insert(word.block).second) {
        kept_.erase(word.block);
      }
    }
  }
  for (const CUdeviceptr word : beyond) (void)expose(word, kReason);
}

OutsideChange::~OutsideChange() { let_go(kept_); }

}  // namespace tessera::preload
