#include "api/ticker.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>

#include "no_threads.hpp"

namespace tessera {
namespace {

TEST(Ticker, CallsAgainAndAgain) {
  std::atomic<int> calls{0};
  const Ticker ticker("nothing", [&] {
    calls.fetch_add(1);
    calls.notify_all();
  });
  for (int seen = calls.load(); seen < 2; seen = calls.load()) calls.wait(seen);
  EXPECT_GE(calls.load(), 2);
}

TEST(Ticker, WithoutAThreadCallsNothing) {
  std::atomic<int> calls{0};
  std::optional<NoThreads> none(std::in_place);
  auto ticker = std::make_unique<Ticker>("nothing", [&] { calls.fetch_add(1); });
  none.reset();
  ticker.reset();
  EXPECT_EQ(calls.load(), 0);
}

}  // namespace
}  // namespace tessera
