#include "handed_addresses.hpp"

#include <algorithm>

namespace tessera::preload {

void HandedAddresses::note(const char* kernel, const Words& words) {
  std::vector<std::uint64_t> all = words.certain;
  all.insert(all.end(), words.maybe.begin(), words.maybe.end());
  if (all.size() < 2) return;
  all.resize(std::min(all.size(), kMostBehind));
  const std::lock_guard<std::mutex> lock(mutex_);
  forget_old();
  const std::uint64_t now = launch_.load(std::memory_order_relaxed);
  for (const std::uint64_t address : words.certain) {
    if (handed_.size() >= kMost && !handed_.contains({address, kernel})) break;
    Handed& handed = handed_[{address, kernel}];
    handed.launch = now;
    handed.others = all;
    std::erase(handed.others, address);
    page_of(address).store(true, std::memory_order_relaxed);
    page_of(address + kReach).store(true, std::memory_order_relaxed);
  }
  newest_.store(now, std::memory_order_relaxed);
  any_.store(!handed_.empty(), std::memory_order_relaxed);
}

void HandedAddresses::add_handed(Words& words) {
  const std::uint64_t now = launch_.fetch_add(1, std::memory_order_relaxed) + 1;
  const auto may_be_handed = [this](std::uint64_t word) { return page_of(word).load(std::memory_order_relaxed); };
  const bool all_old = newest_.load(std::memory_order_relaxed) + kLaunches < now;
  if (!all_old && std::ranges::none_of(words.certain, may_be_handed)) return;
  std::vector<std::uint64_t> maybe;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (all_old) {
    forget_old();
    return;
  }
  for (const std::uint64_t word : words.certain) {
    if (!may_be_handed(word)) continue;
    const CUdeviceptr first = word < kReach ? 0 : word - kReach + 1;
    for (auto at = handed_.lower_bound({first, nullptr}); at != handed_.end() && at->first.first <= word; ++at) {
      if (at->second.launch + kLaunches < now) continue;
      maybe.insert(maybe.end(), at->second.others.begin(), at->second.others.end());
    }
  }
  words.maybe.insert(words.maybe.begin(), maybe.begin(), maybe.end());
}

void HandedAddresses::forget_all() {
  const std::lock_guard<std::mutex> lock(mutex_);
  handed_.clear();
  forget_old();
}

// REQUIRES: the lock.
void HandedAddresses::forget_old() {
  const std::uint64_t now = launch_.load(std::memory_order_relaxed);
  std::erase_if(handed_, [now](const auto& each) { return each.second.launch + kLaunches < now; });
  any_.store(!handed_.empty(), std::memory_order_relaxed);
  if (!handed_.empty()) return;
  for (auto& page : pages_) page.store(false, std::memory_order_relaxed);
}

HandedAddresses& handed_addresses() {
  // Never destroyed: programs launch from their own exit handlers.
  static HandedAddresses& handed = *new HandedAddresses;
  return handed;
}

}  // namespace tessera::preload
