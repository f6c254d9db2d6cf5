#include "pointer_tables.hpp"

#include <iterator>
#include <mutex>
#include <set>

namespace tessera::preload {

bool PointerTables::add(CUdeviceptr place, CUdeviceptr pointee, CUdeviceptr block,
                        std::size_t bytes) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  if (entries_.size() >= kMostEntries && !entries_.contains(place)) return false;
  entries_[place] = pointee;
  holders_[block] = block + bytes;
  for (CUdeviceptr at = block; at < block + bytes; at += CUdeviceptr{1} << kPageBits) {
    page_of(at).store(true, std::memory_order_relaxed);
  }
  page_of(block + bytes - 1).store(true, std::memory_order_relaxed);
  note_count();
  return true;
}

void PointerTables::forget(CUdeviceptr begin, std::size_t bytes) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  // A word that is overwritten in part is gone too.
  erase(begin < sizeof(CUdeviceptr) ? 0 : begin - (sizeof(CUdeviceptr) - 1), begin + bytes);
  note_count();
}

void PointerTables::forget_block(CUdeviceptr block) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  const auto holder = holders_.find(block);
  if (holder == holders_.end()) return;
  erase(holder->first, holder->second);
  note_count();
}

void PointerTables::forget_all() {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  entries_.clear();
  holders_.clear();
  note_count();
}

void PointerTables::add_pointees(FoundWords& found) const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  std::set<CUdeviceptr> seen;
  for (std::size_t i = 0; i < found.words().size(); ++i) {  // grows as it goes
    const CUdeviceptr word = found.words()[i];
    if (!page_of(word).load(std::memory_order_relaxed)) continue;
    auto holder = holders_.upper_bound(word);
    if (holder == holders_.begin() || word >= (--holder)->second) continue;
    if (!seen.insert(holder->first).second) continue;
    const auto end = entries_.lower_bound(holder->second);
    for (auto at = entries_.lower_bound(holder->first); at != end; ++at) found.add(at->second);
  }
}

// REQUIRES: the lock.
void PointerTables::erase(CUdeviceptr begin, CUdeviceptr end) {
  entries_.erase(entries_.lower_bound(begin), entries_.lower_bound(end));
  auto holder = holders_.upper_bound(begin);
  if (holder != holders_.begin()) --holder;
  while (holder != holders_.end() && holder->first < end) {
    const auto first = entries_.lower_bound(holder->first);
    const bool empty = first == entries_.end() || first->first >= holder->second;
    holder = empty ? holders_.erase(holder) : std::next(holder);
  }
}

// REQUIRES: the lock.
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

}  // namespace tessera::preload
