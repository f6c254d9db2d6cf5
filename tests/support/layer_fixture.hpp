// The allocator's layers over a simulated device, assembled bottom-up, and all validated at the end of a test.
//
// Thread safety: as for the layers.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <stdexcept>
#include <vector>

#include "policy/policy.hpp"
#include "sim/fault_driver.hpp"
#include "sim/machine_builder.hpp"
#include "sim/sim_driver.hpp"
#include "word_loops.hpp"

namespace tessera {

inline constexpr TagId kTag{3};                         // an arbitrary tag
inline constexpr Bytes kEverything{~std::uint64_t{0}};  // more than exists

struct LayerSizes {
  Bytes device = 128_MiB;
  Bytes host = 64_MiB;
  Bytes file = {};
  Bytes staging = 64_MiB;
  Bytes heap = 4_GiB;
  BlockCacheOptions blocks = {};
};

// The value of a Result; throws if the call failed.
template <class T>
T take(Result<T> result) {
  if (!result.is_ok()) throw std::runtime_error(result.status().to_string());
  return result.take();
}

struct LayerStack {
  explicit LayerStack(LayerSizes sizes = {})
      : sim({.memory = sizes.device}, clock),
        driver(sim),
        layers(driver, clock, {.device = sizes.device, .host = sizes.host, .staging = sizes.staging},
               take(FileTier::open(std::filesystem::temp_directory_path(), sizes.file)), system_host_pages(), 1024) {
    expect(layers.add_residency(take(make_policy("recency"))));
    expect(layers.add_pages(sizes.heap, 64_MiB));
    layers.add_blocks(sizes.blocks);
  }
  static void expect(const Status& status) {
    if (!status.is_ok()) throw std::runtime_error(status.to_string());
  }

  SteadyClock clock;
  SimDriver sim;
  FaultDriver driver;  // forwards all calls unless a test sets a fault
  SimLayers layers;
};

class LayerTest : public testing::Test {
 protected:
  using Run = tessera::Run;  // testing::Test has a private member with this name

  explicit LayerTest(LayerSizes sizes = {}) : stack_(std::make_unique<LayerStack>(sizes)) {}

  void TearDown() override {
    for (const StreamId stream : streams_) expect_ok(driver().destroy_stream(stream));
    expect_valid();
  }

  FaultDriver& driver() { return stack_->driver; }
  Residency& residency() { return *stack_->layers.residency; }
  PageManager& pages() { return *stack_->layers.pages; }
  BlockCache& blocks() { return *stack_->layers.blocks; }

  StreamId new_stream() {
    streams_.push_back(take(driver().create_stream(DeviceId(0))));
    return streams_.back();
  }
  // Work queued on `stream` from now on is blocked during the lifetime of the result.
  struct Hold {
    std::promise<void> over;
    ~Hold() { over.set_value(); }
  };
  std::unique_ptr<Hold> hold(StreamId stream) {
    auto held = std::make_unique<Hold>();
    expect_ok(stack_->sim.host_function(stream, [over = held->over.get_future().share()] { over.wait(); }));
    return held;
  }
  // Fills [address, address + bytes) as announced work on `stream`.
  Status fill(Address address, std::uint8_t value, Bytes bytes, StreamId stream) {
    return use(address, stream, Access::kWrite, Use::Kind::kGate,
               [&] { return driver().fill(address, value, bytes, stream); });
  }
  // Whether every byte there has this value; waits for the stream.
  bool holds(Address address, std::uint8_t value, Bytes bytes, StreamId stream) {
    std::vector<std::uint8_t> seen(bytes.value(), static_cast<std::uint8_t>(value + 1));
    const Status copied = use(address, stream, Access::kRead, Use::Kind::kHold, [&] {
      const Status queued = driver().copy_out(seen.data(), address, bytes, stream);
      return queued.is_ok() ? driver().synchronize(stream) : queued;
    });
    expect_ok(copied);
    return copied.is_ok() && all_are(seen, value);
  }

  static void expect_ok(const Status& status) { EXPECT_TRUE(status.is_ok()) << status.to_string(); }
  void expect_valid() {
    expect_ok(blocks().validate());
    expect_ok(pages().validate());
    expect_ok(residency().figures().validate());
  }

  std::unique_ptr<LayerStack> stack_;

 private:
  template <class Work>
  Status use(Address address, StreamId stream, Access access, Use::Kind kind, Work work) {
    auto found = blocks().find(address);
    if (!found.is_ok()) return found.status();
    Run* const runs[] = {found.value().run};
    Use use;
    TESSERA_TRY(residency().begin_use(runs, stream, access, kind, use));
    const Status done = work();
    residency().end_use(runs, stream, use);
    return done;
  }

  std::vector<StreamId> streams_;
};

}  // namespace tessera
