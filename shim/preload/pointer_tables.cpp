#include "pointer_tables.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>

#include "lifecycle.hpp"

namespace tessera::preload {

bool PointerTables::add(CUdeviceptr place, CUdeviceptr pointee, CUdeviceptr block, std::size_t bytes) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  return add_locked(place, pointee, block, bytes);
}

// A place may hold one of several words. Alternatives are stored at the word's eight byte addresses; when these are
// used up, the newest replaces the last.
bool PointerTables::add_beside(CUdeviceptr place, CUdeviceptr pointee, CUdeviceptr block, std::size_t bytes) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  const CUdeviceptr last = place + sizeof(CUdeviceptr) - 1;
  for (auto at = entries_.find(place); at != entries_.end(); at = entries_.find(++place)) {
    if (at->second == pointee) return true;
    if (place == last) break;
  }
  return add_locked(place, pointee, block, bytes);
}

bool PointerTables::add_locked(CUdeviceptr place, CUdeviceptr pointee, CUdeviceptr block, std::size_t bytes) {
  const auto known = entries_.find(place);
  if (known == entries_.end() && entries_.size() >= kMostEntries) return false;
  if (known != entries_.end()) places_.erase({known->second, place});
  entries_[place] = pointee;
  places_.emplace(pointee, place);
  join_locked(place, place + sizeof(CUdeviceptr));
  holders_[block] = block + bytes;
  for (CUdeviceptr at = block; at < block + bytes; at += CUdeviceptr{1} << kPageBits) {
    page_of(at).store(true, std::memory_order_relaxed);
  }
  page_of(block + bytes - 1).store(true, std::memory_order_relaxed);
  note_count();
  return true;
}

void PointerTables::join(CUdeviceptr begin, std::size_t bytes) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  if (has_entries(begin, begin + bytes)) join_locked(begin, begin + bytes);
}

void PointerTables::forget(CUdeviceptr begin, std::size_t bytes) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  erase(begin, begin + bytes);
  note_count();
}

void PointerTables::forget_block(CUdeviceptr block, std::size_t bytes) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  erase(block, block + bytes);
  for (auto at = places_.lower_bound({block, 0}); at != places_.end() && at->first < block + bytes;) {
    const CUdeviceptr place = (at++)->second;
    erase_entries(place, place + 1);
    const auto stretch = stretch_at_or_behind(place);
    if (stretch != stretches_.end() && !has_entries(stretch->first, stretch->second.end)) stretches_.erase(stretch);
  }
  std::erase_if(holders_, [this](const auto& holder) { return !has_entries(holder.first, holder.second); });
  note_count();
}

void PointerTables::forget_all() {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  entries_.clear();
  places_.clear();
  stretches_.clear();
  holders_.clear();
  note_count();
}

// REQUIRES for all functions below: the lock is held.

PointerTables::Stretches::const_iterator PointerTables::stretch_at_or_behind(CUdeviceptr address) const {
  auto at = stretches_.upper_bound(address);
  if (at != stretches_.begin() && std::prev(at)->second.end > address) --at;
  return at;
}

bool PointerTables::has_entries(CUdeviceptr begin, CUdeviceptr end) const {
  const auto first = entries_.lower_bound(begin);
  return first != entries_.end() && first->first < end;
}

void PointerTables::put_stretch(CUdeviceptr begin, CUdeviceptr end, bool passed) {
  Stretch& stretch = stretches_[begin];
  stretch.end = end;
  stretch.passed.store(passed, std::memory_order_relaxed);
}

// Joins it with overlapping stretches, and with adjacent ones that have not been passed.
void PointerTables::join_locked(CUdeviceptr begin, CUdeviceptr end) {
  bool passed = false;
  auto at = stretch_at_or_behind(begin == 0 ? 0 : begin - 1);
  while (at != stretches_.end() && at->first <= end) {
    const bool touches = at->second.end == begin || at->first == end;
    const bool is_passed = at->second.passed.load(std::memory_order_relaxed);
    if (touches && is_passed) {
      ++at;
      continue;
    }
    begin = std::min(begin, at->first);
    end = std::max(end, at->second.end);
    passed = passed || is_passed;
    at = stretches_.erase(at);
  }
  put_stretch(begin, end, passed);
}

// The remains on either side stay stretches if they have entries.
void PointerTables::cut_stretches(CUdeviceptr begin, CUdeviceptr end) {
  auto at = stretch_at_or_behind(begin);
  while (at != stretches_.end() && at->first < end) {
    const CUdeviceptr first = at->first, last = at->second.end;
    const bool passed = at->second.passed.load(std::memory_order_relaxed);
    at = stretches_.erase(at);
    if (first < begin && has_entries(first, begin)) put_stretch(first, begin, passed);
    if (last > end && has_entries(end, last)) put_stretch(end, last, passed);
  }
}

void PointerTables::erase_entries(CUdeviceptr begin, CUdeviceptr end) {
  const auto last = entries_.lower_bound(end);
  for (auto at = entries_.lower_bound(begin); at != last; at = entries_.erase(at)) {
    places_.erase({at->second, at->first});
  }
}

void PointerTables::erase(CUdeviceptr begin, CUdeviceptr end) {
  // A partly overwritten word is gone too.
  erase_entries(begin < sizeof(CUdeviceptr) ? 0 : begin - (sizeof(CUdeviceptr) - 1), end);
  cut_stretches(begin, end);
  auto holder = holders_.upper_bound(begin);
  if (holder != holders_.begin()) --holder;
  while (holder != holders_.end() && holder->first < end) {
    holder = has_entries(holder->first, holder->second) ? std::next(holder) : holders_.erase(holder);
  }
}

void PointerTables::note_count() {
  entries_held_.store(entries_.size(), std::memory_order_relaxed);
  if (!entries_.empty()) return;
  for (auto& page : pages_) page.store(false, std::memory_order_relaxed);
}

PointerTables& pointer_tables() {
  // Never destroyed: programs launch from their own exit handlers.
  static PointerTables& tables = *new PointerTables;
  return tables;
}

void forget_tables_of(CUdeviceptr block) {
  if (!pointer_tables().any()) return;
  tessera_block_info info{};
  info.size = sizeof(info);
  if (tessera_query(running(), block, &info) != TESSERA_OK || info.address != block) return;
  pointer_tables().forget_block(block, std::max(info.bytes, info.capacity));
}

}  // namespace tessera::preload
