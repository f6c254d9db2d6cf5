#include "residency/pages/named_starts.hpp"

namespace tessera {

// Linear probing: a quarter of the slots stays free. Null where the address is new and the table is full.
NamedStarts::Start* NamedStarts::slot_of(std::uint64_t key) {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;
  for (std::size_t at = (key * kGolden) >> 50U;; at = (at + 1) % kSlots) {
    static_assert(kSlots == std::size_t{1} << (64U - 50U));
    Start& start = starts_[at];
    std::uint64_t there = start.key.load(std::memory_order_relaxed);
    if (there == key) return &start;
    if (there != 0) continue;
    if (is_full()) return nullptr;
    if (start.key.compare_exchange_strong(there, key, std::memory_order_relaxed)) {
      count_.fetch_add(1, std::memory_order_relaxed);
      return &start;
    }
    if (there == key) return &start;
  }
}

void NamedStarts::note(Extent named) {
  if (Start* const start = slot_of(named.offset.value() + 1)) {
    start->times.fetch_add(1, std::memory_order_relaxed);
    if (start->bytes.load(std::memory_order_relaxed) < named.bytes.value()) {
      start->bytes.store(named.bytes.value(), std::memory_order_relaxed);
    }
  }
  if (left_.fetch_sub(1, std::memory_order_relaxed) == 1) due_.store(true, std::memory_order_relaxed);
}

std::vector<NamedStretch> NamedStarts::stretches() const {
  std::vector<NamedStretch> result;
  for (const Start& start : starts_) {
    const std::uint64_t key = start.key.load(std::memory_order_relaxed);
    if (key == 0) continue;
    result.push_back({Bytes(key - 1), Bytes(start.bytes.load(std::memory_order_relaxed)),
                      start.times.load(std::memory_order_relaxed)});
  }
  return result;
}

void NamedStarts::halve() {
  for (Start& start : starts_)
    start.times.store(start.times.load(std::memory_order_relaxed) / 2, std::memory_order_relaxed);
}

// A launch may put an address into a slot meanwhile, twice at worst.
void NamedStarts::clear() {
  for (Start& start : starts_) {
    start.key.store(0, std::memory_order_relaxed);
    start.bytes.store(0, std::memory_order_relaxed);
    start.times.store(0, std::memory_order_relaxed);
  }
  count_.store(0, std::memory_order_relaxed);
}

}  // namespace tessera
