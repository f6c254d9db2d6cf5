#include "residency/streams/waiting_kernels.hpp"

#include <algorithm>
#include <vector>

namespace tessera {

WaitingKernels::Entry* WaitingKernels::entry_of(const void* work) {
  const auto end = entries_.begin() + static_cast<std::ptrdiff_t>(count_.load(std::memory_order_relaxed));
  const auto entry = std::find_if(entries_.begin(), end, [work](const Entry& each) { return each.work == work; });
  return entry == end ? nullptr : &*entry;
}

// A kernel known to wait stays known; once the table is full, no more are added.
void WaitingKernels::set(const void* work, Known known) {
  Entry* entry = entry_of(work);
  const std::size_t count = count_.load(std::memory_order_relaxed);
  if (entry == nullptr && count < kMostKnown) {
    entry = &entries_[count];
    entry->work = work;
    entry->known.is_suspect = true;
    count_.store(count + 1, std::memory_order_relaxed);
  }
  if (entry != nullptr && entry->known.is_suspect) entry->known = known;
}

void WaitingKernels::add(const void* work, Nanoseconds allowance) {
  if (work == nullptr) return;
  MutexLock lock(mutex_);
  set(work, {.is_suspect = false, .allowance = allowance});
}

std::optional<WaitingKernels::Known> WaitingKernels::find(const void* work) const {
  if (!any()) return std::nullopt;
  MutexLock lock(mutex_);
  for (std::size_t i = 0; i < count_.load(std::memory_order_relaxed); ++i) {
    if (entries_[i].work == work) return entries_[i].known;
  }
  return std::nullopt;
}

void WaitingKernels::note(const void* work, std::uint32_t slot, Epoch epoch) {
  MutexLock lock(mutex_);
  trail_[next_++ % kTrail] = {epoch, slot, work};
}

// Kernels without a name cannot be distinguished.
void WaitingKernels::accuse(std::uint32_t slot, Epoch after, Epoch until) {
  MutexLock lock(mutex_);
  std::vector<const void*> works, suspects;
  for (const Launch& launch : trail_) {
    if (launch.epoch <= after || launch.epoch > until || launch.slot != slot) continue;
    if (std::ranges::find(works, launch.work) == works.end()) works.push_back(launch.work);
  }
  for (const void* work : works) {
    const Entry* const entry = entry_of(work);
    if (entry != nullptr && !entry->known.is_suspect) return;  // the waiting kernel is already known
    if (entry != nullptr) suspects.push_back(work);
  }
  const auto& accused = suspects.size() == 1 ? suspects : works;
  if (accused.size() > kMostSuspects || std::ranges::find(accused, nullptr) != accused.end()) return;
  for (const void* work : accused) set(work, {.is_suspect = accused.size() != 1});
}

}  // namespace tessera
