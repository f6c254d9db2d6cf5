// The complete allocator on a simulated device, as the C API builds it on a driver.
//
// Thread safety: as for Allocator.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "api/allocator.hpp"
#include "sim/sim_driver.hpp"
#include "word_loops.hpp"

namespace tessera {

class AllocatorMachine : public ::testing::Test {
 protected:
  void start(const Options& options, SimOptions sim = {.devices = 2, .memory = 256_MiB}) {
    auto driver = std::make_unique<SimDriver>(std::move(sim), clock_);
    sim_ = driver.get();
    auto made = Allocator::create(std::move(driver), options, clock_);
    ASSERT_TRUE(made.is_ok()) << made.status().to_string();
    allocator_ = made.take();
  }
  // Where a use that does not fit on the device is out of memory.
  static SimOptions without_host_frames() { return {.devices = 2, .memory = 256_MiB, .host_frames = false}; }
  static Options small(Bytes device, Bytes host, Bytes file = Bytes()) {
    Options options;
    options.device_memory = device;
    options.host_memory = host;
    options.file_memory = file;
    options.file_dir = ::testing::TempDir();
    options.log_level = "quiet";
    return options;
  }
  void TearDown() override {
    if (!allocator_) return;
    const Status valid = allocator_->validate();
    EXPECT_TRUE(valid.is_ok()) << valid.to_string();
  }

  Address allocate(Bytes bytes, DeviceId device = DeviceId()) {
    auto block = allocator_->allocate(device, bytes, kNoStream);
    EXPECT_TRUE(block.is_ok()) << block.status().to_string();
    return block.is_ok() ? block.value() : Address();
  }
  // Writes and reads in announced, blocking uses, as the preload library does for cuMemcpy.
  void write(Address to, std::uint32_t pattern, Bytes bytes) {
    const std::vector<std::uint32_t> data(bytes.value() / sizeof(pattern), pattern);
    use(to, Access::kWrite, [&] { return sim_->copy_in(to, data.data(), bytes, StreamId()); });
  }
  bool holds(Address from, std::uint32_t pattern, Bytes bytes) {
    std::vector<std::uint32_t> data(bytes.value() / sizeof(pattern));
    use(from, Access::kRead, [&] { return sim_->copy_out(data.data(), from, bytes, StreamId()); });
    return all_are(data, pattern);
  }
  template <class Work>
  void use(Address address, Access access, Work work) {
    AnnouncedUse use;
    const Status begun = allocator_->uses().begin({&address, 1}, StreamId(), access, Use::Kind::kHold, "", use);
    ASSERT_TRUE(begun.is_ok()) << begun.to_string();
    const Status queued = work();
    EXPECT_TRUE(queued.is_ok()) << queued.to_string();
    const Status done = sim_->synchronize(StreamId());
    EXPECT_TRUE(done.is_ok()) << done.to_string();
    allocator_->uses().end(use);
  }

  SteadyClock clock_;
  SimDriver* sim_ = nullptr;
  std::unique_ptr<Allocator> allocator_;
};

}  // namespace tessera
