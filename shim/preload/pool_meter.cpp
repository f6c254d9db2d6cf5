#include "pool_meter.hpp"

#include <algorithm>

namespace tessera::preload {
namespace {

std::uint64_t in_pages(std::int64_t bytes) {
  const auto positive = static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0));
  return (positive + PoolMeter::kPage - 1) / PoolMeter::kPage * PoolMeter::kPage;
}

void raise_mark(std::atomic<std::int64_t>& mark, std::int64_t value) {
  std::int64_t before = mark.load(std::memory_order_relaxed);
  while (value > before && !mark.compare_exchange_weak(before, value, std::memory_order_relaxed)) {
  }
}

constinit std::atomic<unsigned> metered_threads{0};
[[gnu::tls_model("initial-exec")]] thread_local constinit unsigned own_number = 0;  // 0: none yet

}  // namespace

PoolMeter::Shard& PoolMeter::own_shard() {
  if (own_number == 0) [[unlikely]]
    own_number = metered_threads.fetch_add(1, std::memory_order_relaxed) % kShards + 1;
  return shards_[own_number - 1];
}

bool PoolMeter::reserve(std::uint64_t bytes, std::uint64_t limit) {
  if (limit == 0) return true;
  if (bytes > limit) return false;
  const auto wanted = static_cast<std::int64_t>(bytes);
  std::int64_t before = taken_.load(std::memory_order_relaxed);
  do {
    if (static_cast<std::uint64_t>(before) + bytes > limit) return false;
  } while (!taken_.compare_exchange_weak(before, before + wanted, std::memory_order_relaxed));
  return true;
}

void PoolMeter::unreserve(std::uint64_t bytes, std::uint64_t limit) {
  if (limit != 0) taken_.fetch_sub(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
}

void PoolMeter::count(std::uint64_t bytes, std::uint64_t limit) {
  if (limit != 0) return raise_marks();
  const auto wanted = static_cast<std::int64_t>(bytes);
  std::atomic<std::int64_t>& kept_back = own_shard().kept_back;
  std::int64_t kept = kept_back.load(std::memory_order_relaxed);
  while (kept >= wanted) {
    if (kept_back.compare_exchange_weak(kept, kept - wanted, std::memory_order_relaxed)) return;
  }
  kept = kept_back.exchange(0, std::memory_order_relaxed);
  taken_.fetch_add(wanted - kept, std::memory_order_relaxed);
  raise_marks();
}

void PoolMeter::give(std::uint64_t bytes, std::uint64_t limit) {
  const auto freed = static_cast<std::int64_t>(bytes);
  if (limit != 0) {
    taken_.fetch_sub(freed, std::memory_order_relaxed);
    return;
  }
  std::atomic<std::int64_t>& kept_back = own_shard().kept_back;
  if (kept_back.load(std::memory_order_relaxed) + freed <= kKeptBack) {
    kept_back.fetch_add(freed, std::memory_order_relaxed);
  } else {
    taken_.fetch_sub(kept_back.exchange(freed, std::memory_order_relaxed), std::memory_order_relaxed);
  }
}

std::int64_t PoolMeter::sum() const {
  std::int64_t kept = 0;
  for (const Shard& shard : shards_) kept += shard.kept_back.load(std::memory_order_relaxed);
  return std::max<std::int64_t>(taken_.load(std::memory_order_relaxed) - kept, 0);
}

// Takes from the threads what they keep back, so that the next allocation raises a mark that is lowered now. Returns
// what is in use.
std::int64_t PoolMeter::take_back() {
  for (Shard& shard : shards_) {
    taken_.fetch_sub(shard.kept_back.exchange(0, std::memory_order_relaxed), std::memory_order_relaxed);
  }
  return sum();
}

void PoolMeter::raise_marks() {
  const std::int64_t taken = taken_.load(std::memory_order_relaxed);
  const auto is_above = [taken](const std::atomic<std::int64_t>& mark) {
    return taken > mark.load(std::memory_order_relaxed);
  };
  if (!is_above(used_high_) && !is_above(reserved_high_) && !is_above(since_trim_)) return;
  const std::int64_t used = sum();
  raise_mark(used_high_, used);
  raise_mark(reserved_high_, used);
  raise_mark(since_trim_, used);
}

std::uint64_t PoolMeter::used() const { return static_cast<std::uint64_t>(sum()); }

std::uint64_t PoolMeter::used_high() const {
  return static_cast<std::uint64_t>(std::max(used_high_.load(std::memory_order_relaxed), sum()));
}

std::uint64_t PoolMeter::reserved(std::uint64_t threshold) const {
  const std::uint64_t retained = std::min(in_pages(since_trim_.load(std::memory_order_relaxed)), threshold);
  return std::max(in_pages(sum()), retained);
}

std::uint64_t PoolMeter::reserved_high(std::uint64_t threshold) const {
  return std::max(in_pages(reserved_high_.load(std::memory_order_relaxed)), reserved(threshold));
}

void PoolMeter::reset_reserved_high(std::uint64_t threshold) {
  (void)take_back();
  reserved_high_.store(static_cast<std::int64_t>(reserved(threshold)));
}

std::uint64_t PoolMeter::trim(std::uint64_t keep) {
  const std::uint64_t before = in_pages(since_trim_.load(std::memory_order_relaxed));
  const std::uint64_t after = std::max(in_pages(take_back()), std::min(before, keep));
  since_trim_.store(static_cast<std::int64_t>(after), std::memory_order_relaxed);
  return before > after ? before - after : 0;
}

void PoolMeter::clear() {
  for (Shard& shard : shards_) shard.kept_back.store(0);
  for (std::atomic<std::int64_t>* const amount : {&taken_, &used_high_, &reserved_high_, &since_trim_}) {
    amount->store(0);
  }
}

}  // namespace tessera::preload
