// FlashNeuron's pool (FAST 2021), on steps recorded from PyTorch. No part of the allocator places blocks this way.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include <string>
#include <vector>

#include "lab/replay/trace_reader.hpp"
#include "two_ended_pool.hpp"

namespace tessera::test {
namespace {

constexpr Bytes kUnit = 4_KiB;  // of the pool

class Lives {
 public:
  explicit Lives(const Trace& trace) : trace_(trace), is_long_(trace.blocks.size()) {
    for (const TraceBlock& block : trace.blocks) sizes_.push_back(round_up(block.bytes, kUnit));
    Bytes live;
    std::size_t fullest = 0;
    std::vector<std::size_t> born(sizes_.size()), freed(sizes_.size(), trace.events.size());
    for (std::size_t now = 0; now < trace.events.size(); ++now) {
      const auto [kind, block] = trace.events[now];
      if (kind == TraceEvent::Kind::kAlloc) born[block] = now, live += sizes_[block];
      if (kind == TraceEvent::Kind::kFree) freed[block] = now, live -= sizes_[block];
      if (live > peak_) peak_ = live, fullest = now;
    }
    for (std::size_t block = 0; block < sizes_.size(); ++block)
      is_long_[block] = born[block] <= fullest && freed[block] > fullest;
  }

  // The maximum of live bytes. Every pool needs at least this much.
  Bytes peak() const { return peak_; }

  // The extent of first fit: blocks live at the moment of the maximum are placed at the high end, if there are two.
  // Nothing if the pool is too small.
  std::optional<Bytes> reach(Bytes size, bool two_ends) const {
    TwoEndedPool pool(size);
    std::vector<Bytes> places(sizes_.size());
    Bytes most;
    for (const auto& [kind, block] : trace_.events) {
      if (kind == TraceEvent::Kind::kFree) pool.free(places[block]);
      if (kind != TraceEvent::Kind::kAlloc) continue;
      const auto place = two_ends && is_long_[block] ? pool.take_high(sizes_[block]) : pool.take_low(sizes_[block]);
      if (!place) return std::nullopt;
      places[block] = *place;
      most = std::max(most, pool.top());
    }
    return most;
  }

  // The smallest two-ended pool, to a MiB.
  Bytes least_of_two_ends() const {
    Bytes size = peak_;
    while (!reach(size, true)) size += 1_MiB;
    return size;
  }

 private:
  const Trace& trace_;
  std::vector<Bytes> sizes_;
  std::vector<bool> is_long_;
  Bytes peak_;
};

TEST(PublishedPool, EachEndTakesTheFirstHoleThatIsLargeEnough) {
  TwoEndedPool pool(100_KiB);
  for (const std::uint64_t begin : {0U, 20U, 40U}) EXPECT_EQ(pool.take_low(20_KiB), begin * 1_KiB);
  EXPECT_EQ(pool.take_high(20_KiB), 80_KiB);
  pool.free(20_KiB);
  EXPECT_EQ(pool.take_low(21_KiB), std::nullopt);
  EXPECT_EQ(pool.take_high(20_KiB), 60_KiB);
  EXPECT_EQ(pool.take_high(20_KiB), 20_KiB);
  EXPECT_EQ(pool.take_low(1_KiB), std::nullopt);
  EXPECT_EQ(pool.take_high(1_KiB), std::nullopt);
}

TEST(PublishedPool, ATwoEndedPoolFragmentsLessThanFirstFit) {
  for (const char* name : {"bert-base-b16", "gpt2-small-b8", "resnet50-b32", "unet2d-b16"}) {
    const auto trace = read_trace(fmt::format("{}/bench/traces/recorded/{}.jsonl.zst", TESSERA_TEST_SOURCE_DIR, name));
    ASSERT_TRUE(trace.is_ok()) << trace.status().to_string();
    const Lives lives(trace.value());
    const auto peak = static_cast<double>(lives.peak().value());
    const auto lost = [&](Bytes bytes) { return 100.0 * (static_cast<double>(bytes.value()) - peak) / peak; };
    const double first_fit = lost(lives.reach(1_TiB, false).value()), two_ends = lost(lives.least_of_two_ends());
    RecordProperty(name, fmt::format("first fit {:.2f} % more than is live, two ends {:.2f} %", first_fit, two_ends));
    EXPECT_LT(two_ends, first_fit) << name;
    EXPECT_LT(two_ends, 0.15) << name;
  }
}

}  // namespace
}  // namespace tessera::test
