#include "pointer_tables.hpp"

#include <algorithm>
#include <mutex>

#include "lifecycle.hpp"
#include "pointer_table_walk.hpp"

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
  for (auto known = entries_.at(place); known; known = entries_.at(++place)) {
    if (*known == pointee) return true;
    if (place == last) break;
  }
  return add_locked(place, pointee, block, bytes);
}

// REQUIRES: the lock is held.
bool PointerTables::add_locked(CUdeviceptr place, CUdeviceptr pointee, CUdeviceptr block, std::size_t bytes) {
  if (entries_.size() >= kMostEntries && !entries_.at(place)) return false;
  entries_.put(place, pointee);
  stretches_.join(place, place + sizeof(CUdeviceptr));
  holders_.add(block, block + bytes);
  note_count();
  return true;
}

void PointerTables::join(CUdeviceptr begin, std::size_t bytes) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  if (entries_.has_any(begin, begin + bytes)) stretches_.join(begin, begin + bytes);
}

void PointerTables::forget(CUdeviceptr begin, std::size_t bytes) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  erase(begin, begin + bytes);
  note_count();
}

void PointerTables::forget_block(CUdeviceptr block, std::size_t bytes) {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  erase(block, block + bytes);
  while (const auto place = entries_.take_naming(block, block + bytes)) stretches_.drop_if_bare(*place, entries_);
  holders_.drop_bare(entries_);
  note_count();
}

void PointerTables::forget_all() {
  const std::unique_lock<std::shared_mutex> lock(mutex_);
  entries_.clear();
  stretches_.clear();
  note_count();
}

void PointerTables::add_pointees(Words& words) const {
  const std::shared_lock<std::shared_mutex> lock(mutex_);
  walk_tables(holders_, stretches_, entries_, words);
}

// REQUIRES: the lock is held.
void PointerTables::erase(CUdeviceptr begin, CUdeviceptr end) {
  // A partly overwritten word is gone too.
  entries_.erase(begin < sizeof(CUdeviceptr) ? 0 : begin - (sizeof(CUdeviceptr) - 1), end);
  stretches_.cut(begin, end, entries_);
  holders_.drop_bare(begin, end, entries_);
}

// REQUIRES: the lock is held.
void PointerTables::note_count() {
  any_.store(entries_.size() != 0, std::memory_order_relaxed);
  if (entries_.size() == 0) holders_.clear();
}

PointerTables& pointer_tables() {
  // Never destroyed: programs launch from their own exit handlers.
  static PointerTables& tables = *new PointerTables(detail::launch_facts.pointer_tables);
  return tables;
}

void forget_tables_of(CUdeviceptr block) {
  if (!any_pointer_tables()) return;
  tessera_block_info info{};
  info.size = sizeof(info);
  if (tessera_query(running(), block, &info) != TESSERA_OK || info.address != block) return;
  pointer_tables().forget_block(block, std::max(info.bytes, info.capacity));
}

}  // namespace tessera::preload
