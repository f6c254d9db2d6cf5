// Launches with runs and durations, remembered by a history.
//
// Thread safety: none; one test.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "base/virtual_clock.hpp"
#include "residency/iteration/launch_history.hpp"
#include "residency/iteration/recorded_iteration.hpp"
#include "sim/sim_driver.hpp"

namespace tessera {

using DeviceRun = tessera::Run;  // a test has a member Run() of its own

inline constexpr std::size_t kAll = LaunchHistory::kMostSteps;  // the earlier launches are alike

class LaunchHistoryTest : public ::testing::Test {
 protected:
  ~LaunchHistoryTest() override { EXPECT_TRUE(sim_.destroy_stream(stream_).is_ok()); }

  // A launch that uses one run. Epochs increase by two: a fence between launches takes one.
  void launch(DeviceRun& run, bool fresh = false, std::uint64_t freed_at = 0) {
    const LaunchLog::Use use{.run = &run, .writes = fresh, .fresh = fresh, .freed_at = freed_at};
    epoch_ += 2;
    run.used.store(epoch_);
    history_.remember({.epoch = epoch_, .uses = 1, .watch = std::nullopt, .number = ++number_}, 0, {&use, 1}, 1,
                      Nanoseconds(1000 * epoch_.value()));
  }
  // A launch with this signature, without runs, that takes `time`; untimed if `time` is 0.
  void launch_of(std::uint64_t signature, Nanoseconds time) {
    LaunchLog::Launch launch{.epoch = epoch_ += 2, .watch = std::nullopt};
    if (time) launch.watch = watches_.start(stream_);
    EXPECT_TRUE(sim_.occupy(stream_, time, {}).is_ok());
    if (launch.watch) watches_.stop(*launch.watch, stream_);
    history_.remember(launch, signature, {}, 0, Nanoseconds(1000 * epoch_.value()));
  }
  // Work ahead of the next launch, on that launch's stream.
  void work_beside(Nanoseconds time) {
    const auto watch = watches_.start(stream_);
    EXPECT_TRUE(sim_.occupy(stream_, time, {}).is_ok());
    watches_.stop(*watch, stream_);
    history_.remember_other({.watch = *watch, .stream = StreamId()});
    EXPECT_TRUE(sim_.synchronize(stream_).is_ok());
    history_.read_watches();
  }
  std::vector<Nanoseconds> durations_of(std::uint64_t first, std::size_t period) {
    EXPECT_TRUE(sim_.synchronize(stream_).is_ok());
    history_.read_watches();
    return history_.durations(first, period);
  }
  DeviceRun& run_at(std::uint64_t place) {
    runs_.emplace_back(Address(place << 26), RunShape{0, 2}, TagId());
    return runs_.back();
  }

  VirtualClock clock_;
  SimDriver sim_{{.memory = 64_MiB, .contents = SimContents::kNone}, clock_};
  const StreamId stream_ = sim_.create_stream(DeviceId(0)).take();
  Stopwatches watches_{sim_, DeviceId(0), 4};
  LaunchHistory history_{watches_};
  std::deque<DeviceRun> runs_;
  Epoch epoch_;
  std::uint64_t number_ = 0;  // of the last launch, as a free records it
};

}  // namespace tessera
