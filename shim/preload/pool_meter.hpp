// The amounts of one memory pool: bytes in use, and their high watermarks.
//
// Each thread keeps back what it freed last, and takes its next allocation from it: a program that allocates again what
// it has freed writes to no cache line of another thread. The amount in use is exact whenever it is read. A watermark
// is exact for a pool that one thread uses; else it may be too low by what the threads keep back, kKeptBack for each,
// or its last freed block if that is larger. A pool with a limit keeps nothing back, so that its limit is exact.
//
// Thread safety: any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace tessera::preload {

class PoolMeter {
 public:
  static constexpr std::int64_t kKeptBack = 256 << 10;
  // The driver's pools grow by multiples of this.
  static constexpr std::uint64_t kPage = 32 << 20;

  // A limit of 0 is none. REQUIRES: the same limit in every call, but for count() of a block that was counted before.
  //
  // Before an allocation: false, without effect, if more than `limit` bytes would be in use.
  bool reserve(std::uint64_t bytes, std::uint64_t limit);
  // It failed.
  void unreserve(std::uint64_t bytes, std::uint64_t limit);
  // It has succeeded.
  void count(std::uint64_t bytes, std::uint64_t limit);
  // Its block is freed.
  void give(std::uint64_t bytes, std::uint64_t limit);

  std::uint64_t used() const;
  std::uint64_t used_high() const;
  // In whole pages: what is in use, and up to `threshold` what was since the last trim.
  std::uint64_t reserved(std::uint64_t threshold) const;
  std::uint64_t reserved_high(std::uint64_t threshold) const;
  // To the present amount, as the driver does.
  void reset_used_high() { used_high_.store(take_back()); }
  void reset_reserved_high(std::uint64_t threshold);
  // Only `keep` bytes are retained from now on, or what is in use if that is more. Returns the bytes that are not
  // retained any more.
  std::uint64_t trim(std::uint64_t keep);
  // Nothing is in use, and nothing ever was.
  void clear();

 private:
  struct alignas(64) Shard {
    std::atomic<std::int64_t> kept_back{0};
  };
  static constexpr unsigned kShards = 16;

  Shard& own_shard();
  std::int64_t sum() const;
  std::int64_t take_back();
  void raise_marks();

  alignas(64) std::atomic<std::int64_t> taken_{0};  // in use, or kept back by a shard
  alignas(64) std::atomic<std::int64_t> used_high_{0};
  std::atomic<std::int64_t> reserved_high_{0};
  std::atomic<std::int64_t> since_trim_{0};
  std::array<Shard, kShards> shards_;
};

}  // namespace tessera::preload
