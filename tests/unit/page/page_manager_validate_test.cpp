// The invariants hold after every step of random operations, and after driver failures.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "layer_fixture.hpp"

namespace tessera {
namespace {

class PageManagerValidateTest : public LayerTest {
 protected:
  PageManagerValidateTest() : LayerTest({.device = 128_MiB, .host = 128_MiB, .heap = 512_MiB}) {}
};

TEST_F(PageManagerValidateTest, HoldsAfterEachOfManyRandomOperations) {
  std::mt19937_64 random(3);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  std::vector<Run*> runs;
  int refused = 0;
  for (int step = 0; step < 1500; ++step) {
    if (below(5) < 3) {
      const Domain domain{static_cast<std::uint32_t>(below(2)), StreamId(below(2)), TagId(below(2))};
      const Bytes bytes = 1_MiB * (1 + below(below(8) == 0 ? 80 : 9));
      auto run = pages().acquire(bytes, domain, {});
      if (run.is_ok()) {
        runs.push_back(run.value());
      } else {
        ASSERT_EQ(run.status().code(), Code::kOutOfMemory);
        ++refused;
      }
    }
    if (!runs.empty() && below(5) < 2 + (refused > 0 ? 2 : 0)) {
      std::swap(runs[below(runs.size())], runs.back());
      expect_ok(pages().release(runs.back()));
      runs.pop_back();
      refused = 0;
    }
    const Status valid = pages().validate();
    ASSERT_TRUE(valid.is_ok()) << "step " << step << ": " << valid.to_string();
  }
  for (Run* const run : runs) expect_ok(pages().release(run));
  EXPECT_EQ(pages().stats().in_windows, Bytes());
}

// The engine cannot know whether work still uses a run: the run is given up, its addresses permanently.
TEST_F(PageManagerValidateTest, HoldsWhenTheDriverFailsWhileARunIsRemoved) {
  constexpr Domain kDomain{1, StreamId(0), TagId(7)};
  Run* const run = take(pages().acquire(2_MiB, kDomain, {}));
  residency().note_free(run, new_stream());
  const Address address = run->address;

  driver().fail({.call = {}, .nth = 1, .status = Status(Code::kDriver, "ill", 999), .from_then_on = true});
  EXPECT_EQ(pages().release(run).code(), Code::kDriver);
  driver().clear();
  EXPECT_EQ(pages().find(address), nullptr);
  EXPECT_EQ(pages().stats().lost, 2_MiB);
  expect_ok(pages().validate());
  Run* const next = take(pages().acquire(2_MiB, kDomain, {}));
  EXPECT_NE(next->address, address);
  expect_ok(pages().release(next));
}

}  // namespace
}  // namespace tessera
