#include "handed_addresses.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace tessera::preload {

// REQUIRES: the lock.
HandedAddresses::Handed& HandedAddresses::place_for(const char* kernel, std::uint64_t first) {
  const auto same = std::ranges::find_if(handed_, [&](const Handed& handed) {
    return handed.launch != 0 && handed.kernel == kernel && handed.given.front() == first;
  });
  return same != handed_.end() ? *same : handed_[next_++ % kMost];
}

// A table is in the page of the address that the kernel was given, or in the next one.
template <class Change>
void HandedAddresses::for_each_page(std::span<const std::uint64_t> given, Change change) {
  for (const std::uint64_t address : given) {
    change(page_of(address));
    change(page_of(address + kReach));
  }
}

void HandedAddresses::note(const char* kernel, std::span<const std::uint64_t> given,
                           std::span<const std::uint64_t> named) {
  if (given.empty() || given.size() + named.size() < 2) return;
  given = given.first(std::min(given.size(), kMostWords));
  named = named.first(std::min(named.size(), kMostWords));
  const std::lock_guard<std::mutex> lock(mutex_);
  Handed& handed = place_for(kernel, given.front());
  handed.kernel = kernel;
  handed.launch = launch_.load(std::memory_order_relaxed);
  handed.turn = ++turns_;
  handed.named.assign(named.begin(), named.end());
  if (!std::ranges::equal(handed.given, given)) {
    for_each_page(given, [](auto& page) { page.fetch_add(1, std::memory_order_relaxed); });
    for_each_page(handed.given, [](auto& page) { page.fetch_sub(1, std::memory_order_relaxed); });
    handed.given.assign(given.begin(), given.end());
  }
  newest_.store(handed.launch, std::memory_order_relaxed);
  any_.store(true, std::memory_order_relaxed);
}

bool HandedAddresses::may_add(std::span<const std::uint64_t> given) {
  const std::uint64_t now = launch_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (newest_.load(std::memory_order_relaxed) + kLaunches < now) {
    forget_all();
    return false;
  }
  return std::ranges::any_of(given,
                             [this](std::uint64_t word) { return page_of(word).load(std::memory_order_relaxed) != 0; });
}

// Newest first: what does not fit is dropped from the end.
void HandedAddresses::add_handed(Words& words) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::uint64_t now = launch_.load(std::memory_order_relaxed);
  std::array<const Handed*, kMost> recent{};
  std::size_t count = 0;
  for (const Handed& handed : handed_) {
    if (handed.launch != 0 && handed.launch + kLaunches >= now) recent[count++] = &handed;
  }
  std::ranges::sort(std::span(recent).first(count), std::greater(), &Handed::turn);
  std::vector<std::uint64_t> maybe, others;
  std::vector<std::pair<const char*, std::uint64_t>> written;  // (kernel, address) pairs
  for (const Handed* const handed : std::span(recent).first(count)) {
    bool is_near = false;
    others.clear();
    for (const std::uint64_t at : handed->given) {
      const auto reaches = [at](std::uint64_t word) { return word - at < kReach; };
      if (std::ranges::any_of(words.certain, reaches)) {
        is_near = is_near || std::ranges::find(written, std::pair(handed->kernel, at)) == written.end();
      } else {
        others.push_back(at);
      }
    }
    others.insert(others.end(), handed->named.begin(), handed->named.end());
    if (!is_near || others.empty()) continue;
    for (const std::uint64_t at : handed->given) written.emplace_back(handed->kernel, at);
    for (const std::uint64_t other : others) {
      if (std::ranges::find(maybe, other) == maybe.end()) maybe.push_back(other);
    }
  }
  words.maybe.insert(words.maybe.begin(), maybe.begin(), maybe.end());
}

void HandedAddresses::forget_all() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Handed& handed : handed_) {
    handed.launch = 0;
    handed.given.clear();
  }
  for (auto& page : pages_) page.store(0, std::memory_order_relaxed);
  any_.store(false, std::memory_order_relaxed);
}

HandedAddresses& handed_addresses() {
  // Never destroyed: programs launch from their own exit handlers.
  static HandedAddresses& handed = *new HandedAddresses;
  return handed;
}

}  // namespace tessera::preload
