// Strategies designed for a peer, carried out by the engine.
#include <gtest/gtest.h>

#include "allocator_machine.hpp"
#include "free_calls.hpp"
#include "lab/replay/replay_report.hpp"
#include "lab/replay/replayer.hpp"
#include "trace_text.hpp"

namespace tessera {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr Bytes kLayer = 64_MiB;
constexpr std::uint32_t kLayers = 12;

// Layers written in forward and read in reverse order. A copy of one takes 2.7 ms over the host's link.
std::string stack() {
  std::string text = R"({"t":"mark","kind":"iteration","n":0})"
                     "\n";
  for (std::uint64_t i = 1; i <= kLayers; ++i) text += alloc_line(i, kLayer) + op_line(kMillisecond, "w", i);
  for (std::uint64_t i = kLayers; i > 0; --i) {
    text += op_line(kMillisecond, "r", i) + R"({"t":"free","id":)" + std::to_string(i) + "}\n";
  }
  return text;
}

// Weights that were evicted to the host, since others occupied the peer then, and are read cyclically from then on.
std::string circle() {
  constexpr std::uint64_t kOthers = 100;
  std::string text;
  for (std::uint64_t i = kOthers; i < kOthers + kLayers; ++i)
    text += alloc_line(i, kLayer) + op_line(kMillisecond, "w", i);
  for (std::uint64_t i = 1; i <= kLayers; ++i) text += alloc_line(i, kLayer) + op_line(kMillisecond, "w", i);
  for (std::uint64_t i = kOthers; i < kOthers + kLayers; ++i) {
    text += R"({"t":"free","id":)" + std::to_string(i) + "}\n";
  }
  text += R"({"t":"mark","kind":"iteration","n":0})"
          "\n";
  for (std::uint64_t i = 1; i <= kLayers; ++i) text += op_line(kMillisecond, "r", i);
  return text + alloc_line(kOthers, 2_MiB) + op_line(kMillisecond, "w", kOthers) +
         R"({"t":"free","id":100})"
         "\n";
}

ReplayResult played(const std::string& policy, Bytes peer, const std::string& trace = stack(),
                    std::uint32_t lenders = 1, std::uint64_t peer_rate = ReplayOptions().peer_rate) {
  ReplayOptions options = test::with_free_calls();
  options.policy = policy;
  options.device_memory = 6 * kLayer;
  options.peer_memory = peer;
  options.lenders = lenders;
  options.peer_rate = peer_rate;
  options.iterations = 10;
  auto result = replay(trace_of(trace), options);
  EXPECT_TRUE(result.is_ok()) << result.status().to_string();
  return result.is_ok() ? result.take() : ReplayResult();
}

TEST(PeerReplay, MpressOffloadsTheExcessOfTheHostLinkToThePeer) {
  const ReplayResult alone = played("mpress", {}), helped = played("mpress", 4 * kLayer);
  EXPECT_EQ(alone.last_pass.peer_in + alone.last_pass.peer_out, Bytes());
  EXPECT_GT(helped.last_pass.peer_in, Bytes());
  EXPECT_GT(helped.last_pass.peer_out, Bytes());
  EXPECT_LT(helped.last_pass.in, alone.last_pass.in);
  EXPECT_LT(helped.last_pass.time, alone.last_pass.time);
}

TEST(PeerReplay, NoPolicyBeatsTheBoundOfBothLinks) {
  for (const char* const policy : {"lru", "recency", "mpress", "auto"}) {
    for (const Bytes peer : {2 * kLayer, 4 * kLayer, 16 * kLayer}) {
      const ReplayResult result = played(policy, peer);
      EXPECT_GE(result.last_pass.time, result.last_pass.lower_bound) << policy << " " << peer.value();
    }
  }
}

TEST(PeerReplay, AutoIsNoSlowerThanMpressAndUsesThePeer) {
  const ReplayResult best = played("auto", 4 * kLayer), other = played("mpress", 4 * kLayer);
  EXPECT_LE(best.last_pass.time, other.last_pass.time);
  EXPECT_LT(best.last_pass.time, played("auto", {}).last_pass.time);
  EXPECT_GT(best.last_pass.peer_in, Bytes());
}

TEST(PeerReplay, PlannedRunsMoveFromTheHostToThePeer) {
  const ReplayResult alone = played("auto", {}, circle()), helped = played("auto", 4 * kLayer, circle());
  EXPECT_GE(helped.last_pass.peer_in, 3 * kLayer) << "each pass";
  EXPECT_LE(helped.last_pass.in, alone.last_pass.in - 3 * kLayer);
  EXPECT_LT(helped.last_pass.time, alone.last_pass.time);
}

// A layer of 64 MiB takes 6.7 ms over one of the links, and its operation 1 ms, so that links bound each pass.
TEST(PeerReplay, LinksToSeveralLendersAddUp) {
  constexpr std::uint64_t kLink = 10'000'000'000;
  const auto passes = [](std::uint32_t lenders, std::uint64_t rate) {
    return played("lru", 16 * kLayer, circle(), lenders, rate).last_pass;
  };
  const auto one = passes(1, kLink), two = passes(2, kLink), four = passes(4, kLink);
  EXPECT_GE(one.peer_in, 10 * kLayer) << "nearly all of it, over and over";
  EXPECT_EQ(two.peer_in, one.peer_in);
  const auto ratio = [&](Nanoseconds time) {
    return static_cast<double>(time.value()) / static_cast<double>(one.time.value());
  };
  EXPECT_NEAR(ratio(two.time), 0.5, 0.05);
  EXPECT_LT(ratio(four.time), ratio(two.time) + 0.05) << "a layer has two pages, so it crosses two links at a time";
  EXPECT_NEAR(ratio(passes(1, 2 * kLink).time), 0.5, 0.05) << "as one link of their sum";
}

TEST(PeerReplay, NoPolicyBeatsTheBoundOfAllLinks) {
  for (const char* const policy : {"lru", "mpress", "auto"}) {
    const ReplayResult result = played(policy, 12 * kLayer, stack(), 3, 10'000'000'000);
    EXPECT_GE(result.last_pass.time, result.last_pass.lower_bound) << policy;
  }
}

TEST(PeerReplay, TheSameReplayGivesTheSameBytes) {
  const auto json = [] {
    ReplayOptions options = test::with_free_calls();
    options.policy = "mpress";
    options.device_memory = 6 * kLayer;
    options.peer_memory = 2 * kLayer;
    options.iterations = 6;
    const Trace trace = trace_of(stack());
    return replay_json(trace, replay(trace, options).take());
  };
  EXPECT_EQ(json(), json());
}

}  // namespace
}  // namespace tessera
