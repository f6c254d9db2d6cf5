// Published results on demand policies, reproduced on the engine: bytes fetched, compared with LRU and Belady.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "lab/replay/bounds.hpp"
#include "published_replay.hpp"

namespace tessera::test {
namespace {

// Draws ranks with probability 1 / rank^exponent.
class Zipf {
 public:
  Zipf(std::size_t count, double exponent) {
    double sum = 0;
    for (std::size_t rank = 1; rank <= count; ++rank) {
      until_.push_back(sum += std::pow(static_cast<double>(rank), -exponent));
    }
  }
  std::size_t draw(std::mt19937_64& random) const {
    const double at = static_cast<double>(random() >> 11) / 9007199254740992.0 * until_.back();
    return static_cast<std::size_t>(std::lower_bound(until_.begin(), until_.end(), at) - until_.begin());
  }

 private:
  std::vector<double> until_;
};

constexpr std::size_t kExperts = 64, kOps = 3000;

// Experts read as they are drawn, two in each step.
Trace experts(double exponent, std::uint64_t seed) {
  TraceText write;
  TraceText::Ids ids;
  for (std::size_t i = 0; i < kExperts; ++i) ids.push_back(write.alloc(kBlock, "weight"));
  std::mt19937_64 random(seed);
  const Zipf zipf(kExperts, exponent);
  for (std::size_t i = 0; i < kOps; ++i) {
    const std::size_t first = zipf.draw(random);
    std::size_t second = first;
    while (second == first) second = zipf.draw(random);
    write.op(kMs, {ids[first], ids[second]});
  }
  return write.done();
}

double hit_rate(const ReplayResult& result) {
  return 1 - static_cast<double>(result.stats.bytes_in) / static_cast<double>((kBlock * (2 * kOps)).value());
}

TEST(PublishedMisses, FlexmoeHitsMoreExpertsThanLruOnZipf) {
  for (const double exponent : {0.8, 1.0, 1.2}) {
    const Trace trace = experts(exponent, 3);
    for (const std::uint64_t room : {8u, 16u, 32u}) {
      const double by_frequency = hit_rate(played(trace, machine_for("flexmoe", kBlock * room, kMs)));
      const double by_recency = hit_rate(played(trace, machine_for("lru", kBlock * room, kMs)));
      EXPECT_GT(by_frequency, by_recency + 0.01) << exponent << " " << room;
    }
  }
}

// A fetched expert makes room by a single eviction: at most two moves in each direction per step.
TEST(PublishedMisses, FlexmoeMovesNoMoreThanAStepNeeds) {
  constexpr std::uint64_t kRoom = 8;
  const ReplayResult result = played(experts(0.8, 5), machine_for("flexmoe", kBlock * kRoom, kMs));
  const std::uint64_t came = result.stats.bytes_in / kBlock.value();
  EXPECT_LE(came, 2 * kOps);
  EXPECT_EQ(result.stats.evictions + result.stats.clean_evictions, kExperts - kRoom + came);
}

// From some moment on other experts are drawn: the formerly hot ones are evicted, however often they were used.
TEST(PublishedMisses, FlexmoeForgetsFormerlyHotExperts) {
  constexpr std::size_t kHot = 8, kBefore = 20'000, kAfter = 60'000;
  TraceText write;
  TraceText::Ids ids;
  for (std::size_t i = 0; i < 2 * kHot; ++i) ids.push_back(write.alloc(kBlock));
  std::mt19937_64 random(7);
  for (std::size_t i = 0; i < kBefore; ++i) write.op(kMs, {ids[random() % kHot]});
  for (std::size_t i = 0; i < kAfter; ++i) write.op(kMs, {ids[kHot + random() % kHot]});
  const ReplayResult result = played(write.done(), machine_for("flexmoe", kBlock * (kHot + 1), kMs));
  // Counts without decay would keep the first eight for 20,000 uses of the others and miss nearly all of those.
  EXPECT_LT(result.stats.bytes_in / kBlock.value(), kBefore / 2);
}

// Blocks of one size in a repeating order: the case for Belady's rule.
Trace repeated(std::uint64_t seed) {
  TraceText write;
  TraceText::Ids ids;
  for (int i = 0; i < 12; ++i) ids.push_back(write.alloc(kBlock));
  write.iteration();
  std::mt19937_64 random(seed);
  for (int i = 0; i < 60; ++i) {
    const std::uint64_t id = ids[random() % ids.size()];
    random() % 3 == 0 ? write.op(kMs, {}, {id}) : write.op(kMs, {id});
  }
  return write.done();
}

// Forward and backward layers, each with a newly made activation and a weight.
Trace layers_of(std::size_t layers) {
  TraceText write;
  TraceText::Ids weights, activations;
  for (std::size_t i = 0; i < layers; ++i) weights.push_back(write.alloc(kBlock, "weight"));
  write.iteration();
  for (std::size_t i = 0; i < layers; ++i) {
    activations.push_back(write.alloc(kBlock, "activation"));
    write.op(kMs, {weights[i]}, {activations[i]});
  }
  for (std::size_t i = layers; i-- > 0;) {
    write.op(2 * kMs, {weights[i], activations[i]});
    write.free(activations[i]);
  }
  return write.done();
}

std::uint64_t brought_in(const Trace& trace, std::string_view policy, std::uint64_t room) {
  ReplayOptions options = machine_for(policy, kBlock * room, kMs);
  options.iterations = 8;
  return played(trace, options).last_pass.in.value();
}

TEST(PublishedMisses, BeladyFetchesNoMoreThanLru) {
  std::vector<Trace> traces{layers_of(6), layers_of(12)};
  for (std::uint64_t seed = 1; seed <= 6; ++seed) traces.push_back(repeated(seed));
  bool fewer = false;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    for (const std::uint64_t room : {4u, 6u, 9u}) {
      const std::uint64_t belady = brought_in(traces[i], "belady", room), lru = brought_in(traces[i], "lru", room);
      EXPECT_LE(belady, lru) << i << " " << room;
      fewer |= belady < lru;
    }
  }
  EXPECT_TRUE(fewer);
}

// From a cold start, so the iteration is not learned yet. Belady's is the minimum of bytes moved. For random uses a
// score of the past has no information: there it sometimes moves a few blocks more than LRU, and sometimes fewer.
TEST(PublishedMisses, DeltaFromAColdStartIsBetweenBeladyAndLruInBytesMoved) {
  bool fewer = false;
  for (const std::size_t layers : {6u, 9u, 12u, 16u}) {
    for (const std::uint64_t room : {4u, 6u, 9u}) {
      const Trace trace = layers_of(layers);
      const auto moved = [&](std::string_view policy) {
        const tessera_stats stats = played(trace, machine_for(policy, kBlock * room, kMs)).stats;
        return stats.bytes_in + stats.bytes_out;
      };
      const ForcedMoves forced = forced_moves(trace, 0, kBlock * room);
      const std::uint64_t delta = moved("delta"), lru = moved("lru");
      EXPECT_LE(delta, lru) << layers << " " << room;
      EXPECT_GE(delta, (forced.in + forced.out).value()) << layers << " " << room;
      fewer |= delta < lru;
    }
  }
  EXPECT_TRUE(fewer);
}

}  // namespace
}  // namespace tessera::test
