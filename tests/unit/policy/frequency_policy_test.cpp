#include "policy/frequency_policy.hpp"

#include <gtest/gtest.h>

#include "base/decayed_count.hpp"

namespace tessera {
namespace {

TEST(FrequencyPolicy, EvictsTheLeastUsedFirst) {
  const Snapshot snapshot{.need = 4_MiB,
                          .epoch = Epoch(1000),
                          .runs = {{.run = 1, .bytes = 2_MiB, .used = Epoch(950), .often = 9 * kOneEvent},
                                   {.run = 2, .bytes = 2_MiB, .used = Epoch(990), .often = kOneEvent},
                                   {.run = 3, .bytes = 2_MiB, .used = Epoch(900), .often = 5 * kOneEvent}}};
  EXPECT_EQ(FrequencyPolicy().decide(snapshot).victims, (std::vector<std::size_t>{2, 3}));
}

TEST(FrequencyPolicy, TheAgeBreaksTies) {
  const Snapshot snapshot{.need = 2_MiB,
                          .epoch = Epoch(1000),
                          .runs = {{.run = 1, .bytes = 2_MiB, .used = Epoch(950), .often = kOneEvent},
                                   {.run = 2, .bytes = 2_MiB, .used = Epoch(900), .often = kOneEvent}}};
  EXPECT_EQ(FrequencyPolicy().decide(snapshot).victims, std::vector<std::size_t>{2});
}

}  // namespace
}  // namespace tessera
