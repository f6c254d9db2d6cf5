#include "handed_addresses.hpp"

#include <algorithm>
#include <utility>

namespace tessera::preload {

// Spread, because large blocks begin at multiples of many pages.
std::uint64_t HandedAddresses::page_bit(std::uint64_t address) {
  return std::uint64_t{1} << (address / kReach * 0x9e3779b97f4a7c15 >> 58);
}

// A table is in the page of the address that the kernel was given, or in the next one.
std::uint64_t HandedAddresses::table_bits(std::uint64_t given) { return page_bit(given) | page_bit(given + kReach); }

HandedAddresses::Launch::Launch(std::span<const std::uint64_t> given, InOneBlock compare)
    : words(given), in_one_block(compare) {
  for (const std::uint64_t word : words) pages |= page_bit(word);
}

bool HandedAddresses::Launch::is_behind(std::uint64_t at) const {
  if ((table_bits(at) & pages) == 0) return false;
  return std::ranges::any_of(
      words, [this, at](std::uint64_t word) { return word - at < kReach && (word == at || in_one_block(at, word)); });
}

// REQUIRES: the lock.
bool HandedAddresses::reaches(std::size_t place, const Launch& launch) const {
  if ((keys_[place].pages & launch.pages) == 0) return false;
  return std::ranges::any_of(lists_[place].given, [&](std::uint64_t at) { return launch.is_behind(at); });
}

// REQUIRES: the lock.
template <class Visit>
bool HandedAddresses::any_recent(std::uint64_t now, Visit visit) {
  for (std::size_t back = 1; back <= count_; ++back) {
    const std::size_t place = (next_ + kMost - back) % kMost;
    const std::uint64_t launch = keys_[place].launch;
    if (launch == 0) continue;
    if (launch + kLaunches < now) return false;
    if (visit(place)) return true;
  }
  return false;
}

void HandedAddresses::note(const char* kernel, std::span<const std::uint64_t> given,
                           std::span<const std::uint64_t> named) {
  if (given.empty() || given.size() + named.size() < 2) return;
  given = given.first(std::min(given.size(), kMostWords));
  named = named.first(std::min(named.size(), kMostWords));
  const std::lock_guard<std::mutex> lock(mutex_);
  Key key{kernel, given.front(), launch_.load(std::memory_order_relaxed), 0};
  any_recent(key.launch, [&](std::size_t place) {
    Key& other = keys_[place];
    const bool is_same = other.kernel == kernel && other.first == key.first;
    if (is_same) other.launch = 0;
    return is_same;
  });
  Lists& lists = lists_[next_];
  lists.given.clear();
  for (const std::uint64_t address : given) {
    if (std::ranges::find(lists.given, address) == lists.given.end()) lists.given.push_back(address);
  }
  lists.named.assign(named.begin(), named.end());
  for (const std::uint64_t address : lists.given) key.pages |= table_bits(address);
  keys_[next_] = key;
  next_ = (next_ + 1) % kMost;
  count_ = std::min(count_ + 1, kMost);
  newest_.store(key.launch, std::memory_order_relaxed);
  any_.store(true, std::memory_order_relaxed);
}

bool HandedAddresses::may_add(std::span<const std::uint64_t> given, InOneBlock in_one_block) {
  const std::uint64_t now = launch_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (newest_.load(std::memory_order_relaxed) + kLaunches < now) {
    forget_all();
    return false;
  }
  const Launch launch(given, in_one_block);
  const std::lock_guard<std::mutex> lock(mutex_);
  return any_recent(now, [&](std::size_t place) { return reaches(place, launch); });
}

// Newest first: what does not fit is dropped from the end.
void HandedAddresses::add_handed(Words& words, InOneBlock in_one_block) {
  const Launch launch(words.certain, in_one_block);
  std::vector<std::uint64_t> maybe, others;
  std::vector<std::pair<const char*, std::uint64_t>> written;  // (kernel, address) pairs
  const std::lock_guard<std::mutex> lock(mutex_);
  any_recent(launch_.load(std::memory_order_relaxed), [&](std::size_t place) {
    if (!reaches(place, launch)) return false;
    const char* const kernel = keys_[place].kernel;
    bool is_near = false;
    others.clear();
    for (const std::uint64_t at : lists_[place].given) {
      if (launch.is_behind(at)) {
        is_near = is_near || std::ranges::find(written, std::pair(kernel, at)) == written.end();
      } else {
        others.push_back(at);
      }
    }
    others.insert(others.end(), lists_[place].named.begin(), lists_[place].named.end());
    if (!is_near || others.empty()) return false;
    for (const std::uint64_t at : lists_[place].given) written.emplace_back(kernel, at);
    for (const std::uint64_t other : others) {
      if (std::ranges::find(maybe, other) == maybe.end()) maybe.push_back(other);
    }
    return false;
  });
  words.maybe.insert(words.maybe.begin(), maybe.begin(), maybe.end());
}

void HandedAddresses::forget_all() {
  const std::lock_guard<std::mutex> lock(mutex_);
  count_ = 0;
  any_.store(false, std::memory_order_relaxed);
}

HandedAddresses& handed_addresses() {
  // Never destroyed: programs launch from their own exit handlers.
  static HandedAddresses& handed = *new HandedAddresses(detail::launch_facts.handed_addresses);
  return handed;
}

}  // namespace tessera::preload
