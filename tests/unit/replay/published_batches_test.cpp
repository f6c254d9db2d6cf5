// Published results on policies that offload activations, reproduced on the engine.
#include <gtest/gtest.h>

#include "published_replay.hpp"

namespace tessera::test {
namespace {

// Layers that save an activation each, forward and backward, with sizes and times proportional to the batch.
Trace batch_of(std::uint64_t batch) {
  constexpr std::size_t kCount = 8;
  TraceText write;
  TraceText::Ids weights, saved;
  for (std::uint64_t i = 0; i < kCount; ++i) weights.push_back(write.alloc(4_MiB, "weight"));
  for (const std::uint64_t weight : weights) write.op(1, {}, {weight});
  write.iteration();
  for (const std::uint64_t weight : weights) {
    saved.push_back(write.alloc(8_MiB * batch, "activation"));
    write.op(kMs * batch, {weight}, {saved.back()});
  }
  for (std::uint64_t i = kCount; i-- > 0;) {
    write.op(2 * kMs * batch, {weights[i], saved[i]});
    write.free(saved[i]);
  }
  return write.done();
}

LastPass pass_of(std::string_view policy, std::uint64_t batch, std::uint64_t block_takes = 6 * kMs) {
  ReplayOptions options = machine_for(policy, 512_MiB, static_cast<double>(block_takes));
  options.iterations = 8;
  return played(batch_of(batch), options).last_pass;
}

// Whether a pass takes at most this fraction more than its computation. Times are not monotonic in the batch size, so
// the fraction is one that each policy crosses once: at 5 % Capuchin first fails where vdnn-all does, and recovers.
bool keeps_up(std::string_view policy, std::uint64_t batch) {
  constexpr double kSlower = 0.07;
  const LastPass pass = pass_of(policy, batch);
  return static_cast<double>(pass.time.value()) <= (1 + kSlower) * static_cast<double>(pass.compute.value());
}

// By bisection. Any batch that fits step by step runs, so the largest is the one that still keeps up.
std::uint64_t largest_batch(std::string_view policy) {
  std::uint64_t keeps = 4, fails = 60;
  EXPECT_TRUE(keeps_up(policy, keeps)) << policy;
  EXPECT_FALSE(keeps_up(policy, fails)) << policy;
  while (fails - keeps > 1) (keeps_up(policy, (keeps + fails) / 2) ? keeps : fails) = (keeps + fails) / 2;
  return keeps;
}

TEST(PublishedBatches, CapuchinTakesALargerBatchThanVdnn) {
  const std::uint64_t capuchin = largest_batch("capuchin");
  for (const char* vdnn : {"vdnn-all", "vdnn-conv", "vdnn-dyn"}) EXPECT_LT(largest_batch(vdnn), capuchin) << vdnn;
}

// So whatever fraction is allowed, no batch is too large for Capuchin only.
TEST(PublishedBatches, CapuchinIsSlowerThanVdnnAtNoBatch) {
  for (const std::uint64_t milliseconds : {4u, 5u, 6u}) {
    for (std::uint64_t batch = 4; batch <= 20; ++batch) {
      const Nanoseconds capuchin = pass_of("capuchin", batch, milliseconds * kMs).time;
      for (const char* vdnn : {"vdnn-all", "vdnn-conv", "vdnn-dyn"}) {
        EXPECT_LE(capuchin, pass_of(vdnn, batch, milliseconds * kMs).time)
            << vdnn << " " << batch << " " << milliseconds;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::test
