// Random operations on the whole allocator, with a device that is too small for them: every block keeps its bytes, and
// every layer stays valid. Seeds are fixed; a failure names its seed and step.
#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

#include "layer_fixture.hpp"

namespace tessera {
namespace {

struct Live {
  Address address;
  Bytes bytes;
  StreamId stream;  // the stream that wrote it last; all of its work is ordered there
  std::uint8_t value = 0;
};

class BlockCacheFuzzTest : public LayerTest {
 protected:
  BlockCacheFuzzTest()
      : LayerTest({.device = 96_MiB, .host = 96_MiB, .blocks = {.warm_limit = 24_MiB, .bundle_limit = 8_MiB}}) {}

  Bytes random_size(std::mt19937_64& random) const {
    switch (random() % 10) {
      case 0: return Bytes(1 + random() % (largest_ / 2).value());
      case 1:
      case 2: return Bytes(1 + random() % (3_MiB).value());
      case 3: return largest_ - Bytes(random() % (4_MiB).value());
      case 4:
      case 5: return Bytes(1 + random() % (700_KiB).value());
      default: return Bytes(1 + random() % (8_KiB).value());
    }
  }
  // Only bytes at both ends are used, so that large blocks cost no more than small ones.
  static Bytes edge(const Live& live) { return std::min(live.bytes, 4_KiB); }
  Address tail(const Live& live) const { return live.address + (live.bytes - edge(live)); }

  Status write(Live& live, std::uint8_t value) {
    TESSERA_TRY(fill(live.address, value, edge(live), live.stream));
    TESSERA_TRY(fill(tail(live), value, edge(live), live.stream));
    live.value = value;
    return Status::ok();
  }
  void expect_kept(const Live& live) {
    EXPECT_TRUE(holds(live.address, live.value, edge(live), live.stream));
    EXPECT_TRUE(holds(tail(live), live.value, edge(live), live.stream));
  }

  // One random operation on the thread's own blocks. Out of memory is a valid result; other errors are not.
  void step(std::mt19937_64& random, std::vector<Live>& mine, const std::vector<StreamId>& streams) {
    const auto any = [&]() -> Live& { return mine[random() % mine.size()]; };
    const std::uint64_t choice = random() % 100;
    if (choice < 45 || mine.empty()) {
      make(random, mine, {{}, random_size(random), streams[random() % streams.size()]}, TagId(random() % 3));
    } else if (choice < 50) {
      const StreamId stream = streams[random() % streams.size()];
      const Bytes size = kSlotLimit + Bytes(1 + random() % (2_MiB).value());
      for (std::uint64_t n = 4 + random() % 4; n > 0; --n) {  // a burst of up to three sizes
        make(random, mine, {{}, size + Bytes(random() % 3 << 18), stream}, TagId(1));
      }
    } else if (choice < 85) {
      std::swap(any(), mine.back());
      const Live live = mine.back();
      mine.pop_back();
      if (random() % 4 == 0) expect_kept(live);
      StreamId on = live.stream;
      if (random() % 5 == 0) {
        expect_ok(driver().synchronize(live.stream));
        on = random() % 2 == 0 ? kNoStream : streams[random() % streams.size()];
      }
      expect_ok(blocks().free(live.address, on));
      if (random() % 8 == 0) {
        // No longer ours and perhaps another thread's by now, so only an interior address is safe.
        EXPECT_EQ(blocks().free(live.address + 1_B, on).code(), Code::kNotFound);
      }
    } else if (choice < 97) {
      expect_kept(any());
    } else if (choice < 98) {
      expect_ok(blocks().trim());
    } else {
      expect_ok(write(any(), static_cast<std::uint8_t>(random())));
    }
  }
  void make(std::mt19937_64& random, std::vector<Live>& mine, Live live, TagId tag) {
    auto made = blocks().allocate(live.bytes, live.stream, tag);
    if (!made.is_ok()) {
      EXPECT_EQ(made.status().code(), Code::kOutOfMemory) << made.status().to_string();
      return;
    }
    live.address = made.value();
    expect_ok(write(live, static_cast<std::uint8_t>(random())));
    mine.push_back(live);
  }
  void free_all(const std::vector<Live>& lives) {
    for (const Live& live : lives) {
      expect_kept(live);
      expect_ok(blocks().free(live.address, live.stream));
    }
  }

  Bytes largest_ = 36_MiB;
};

TEST_F(BlockCacheFuzzTest, OneThreadAndEveryStepIsValid) {
  const std::vector<StreamId> streams = {new_stream(), new_stream(), new_stream()};
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<Live> mine;
    for (int i = 0; i < 250; ++i) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", step " << i);
      step(random, mine, streams);
      expect_valid();
      ASSERT_EQ(blocks().stats().live_blocks, mine.size());
      if (HasFailure()) return;
    }
    free_all(mine);
  }
}

TEST_F(BlockCacheFuzzTest, ManyThreadsShareStreamsAndEveryRoundIsValid) {
  const std::vector<StreamId> streams = {new_stream(), new_stream(), new_stream()};
  constexpr std::size_t kThreads = 4;
  largest_ = 20_MiB;  // the blocks of all threads at any moment fit in the device
  std::vector<std::vector<Live>> lives(kThreads);
  for (std::uint64_t round = 0; round < 4; ++round) {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        std::mt19937_64 random(100 * round + i);
        for (int n = 0; n < 60 && !HasFailure(); ++n) step(random, lives[i], streams);
      });
    }
    for (auto& thread : threads) thread.join();
    expect_valid();
    if (HasFailure()) return;
    std::swap(lives.front(), lives.back());  // the next round frees blocks made by other threads
  }
  for (const auto& mine : lives) free_all(mine);
  for (const StreamId stream : streams) expect_ok(driver().synchronize(stream));
  expect_ok(blocks().trim());
  EXPECT_EQ(pages().stats().runs, 0u);
}

// Only small blocks, to stress caches, slabs and frees.
TEST_F(BlockCacheFuzzTest, ManyThreadsNeverGetTheSameBlock) {
  const StreamId stream = new_stream();
  constexpr int kThreads = 4;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      std::mt19937_64 random(static_cast<std::uint64_t>(i));
      std::vector<Address> mine;
      for (int n = 0; n < 4000; ++n) {
        if (mine.size() < 30 && random() % 2 == 0) {
          mine.push_back(take(blocks().allocate(Bytes(1 + random() % 3000), stream, TagId(1))));
        } else if (!mine.empty()) {
          std::swap(mine[random() % mine.size()], mine.back());
          // With a second owner, one of the two frees would fail.
          expect_ok(blocks().free(mine.back(), stream));
          mine.pop_back();
        }
      }
      for (const Address address : mine) expect_ok(blocks().free(address, stream));
    });
  }
  threads.emplace_back([&] {
    while (!stop.load()) {
      expect_ok(blocks().trim());
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < kThreads; ++i) threads[static_cast<std::size_t>(i)].join();
  stop.store(true);
  threads.back().join();
  expect_valid();
  EXPECT_EQ(blocks().stats().live_blocks, 0u);
}

}  // namespace
}  // namespace tessera
