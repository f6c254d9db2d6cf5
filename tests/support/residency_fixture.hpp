// A simulated device, its tiers and the engine over them, and runs with verifiable contents.
//
// A run's contents are a generation: every write announces a use and queues a kernel that fills the run with the
// pattern of (run, generation), and every check queues a kernel that compares. Both run in stream order, so tests state
// expectations without waiting.
//
// Thread safety: write, check and touch of distinct runs by distinct threads; everything else by one thread.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "memory_file.hpp"
#include "sim/fault_driver.hpp"
#include "sim/machine_builder.hpp"
#include "sim/sim_driver.hpp"
#include "sim/sim_kernel.h"
#include "word_loops.hpp"

namespace tessera {

// One word in each 512 bytes is written and compared: enough to distinguish any two pages.
struct PatternParameters {
  std::uint64_t* words;
  std::uint64_t bytes;
  std::uint64_t seed;
  std::atomic<std::uint64_t>* wrong;

  static constexpr std::uint64_t kStride = 64;
};

inline int run_pattern(const sim_block*, const void* packed) {
  PatternParameters p;
  std::memcpy(&p, packed, sizeof(p));
  const std::span words(p.words, p.bytes / sizeof(std::uint64_t));
  if (p.wrong == nullptr) {
    fill_words(words, p.seed, PatternParameters::kStride);
  } else if (const std::uint64_t wrong = wrong_words(words, p.seed, PatternParameters::kStride); wrong != 0) {
    p.wrong->fetch_add(wrong);
  }
  return 0;
}

inline const sim_kernel* pattern_kernel() {
  static constexpr sim_parameter kParameters[] = {{0, 8}, {8, 8}, {16, 8}, {24, 8}};
  static constexpr sim_kernel kKernel = {SIM_KERNEL_ABI_VERSION,   "pattern", run_pattern, 4, kParameters,
                                         sizeof(PatternParameters)};
  return &kKernel;
}

// However slow the machine is, work that ends is waited for. Tests of work that does not end set a time of their own.
inline constexpr Nanoseconds kUnlimited{3'600'000'000'000};

struct ResidencySetup {
  Bytes device = 16_MiB;
  Bytes host = 64_MiB;
  Bytes staging = 8_MiB;
  Bytes file = 0_B;
  Bytes backing = 0_B;     // replaces host and file
  Bytes peer = 0_B;        // lent by the devices from 1 on, which `sim` must have
  bool zero_copy = false;  // and host memory in small pieces
  std::string policy = "recency";
  ResidencyOptions options = {};
  Nanoseconds patience = kUnlimited;  // in place of that in `options`
  SimOptions sim = {.memory = 64_MiB};
  bool virtual_time = false;  // with bytes all the same
  std::uint32_t lenders = 1;
};

class ResidencyMachine {
 public:
  explicit ResidencyMachine(const ResidencySetup& setup = {})
      : clock_(setup.virtual_time ? static_cast<const Clock&>(virtual_clock_) : steady_clock_),
        owned_sim_(setup.virtual_time ? std::make_unique<SimDriver>(setup.sim, virtual_clock_)
                                      : std::make_unique<SimDriver>(setup.sim, steady_clock_)),
        sim_(*owned_sim_),
        driver_(sim_) {
    auto io = std::make_unique<MemoryFile>();
    io_ = io.get();
    const TierSizes sizes{setup.device, setup.host,      setup.staging,   setup.backing,
                          setup.peer,   setup.zero_copy, setup.zero_copy, setup.lenders};
    layers_ = std::make_unique<SimLayers>(driver_, clock_, sizes, std::make_unique<FileTier>(std::move(io), setup.file),
                                          system_host_pages(), 4096);
    if (layers_->peer) {
      EXPECT_EQ(layers_->peer->try_admit(DeviceId(0)).to_string(), "ok");
    }
    ResidencyOptions options = setup.options;
    options.patience = setup.patience;
    created_ = layers_->add_residency(make_policy(setup.policy).take(), options);
  }
  ~ResidencyMachine() { finish(); }

  // Ends everything; lost or unreleased resources fail the test.
  void finish() {
    if (layers_ == nullptr) return;
    fault().clear();
    if (layers_->residency) {
      EXPECT_EQ(drain().to_string(), "ok");
    }
    EXPECT_TRUE(driver_.synchronize(DeviceId(0)).is_ok());
    EXPECT_EQ(wrong_.load(), 0U) << "words that a kernel found changed";
    EXPECT_EQ(valid(), "ok");
    abandon();
  }
  // The same for a lost device: no further calls are made on it.
  void abandon() {
    layers_->residency.reset();
    for (const Range& range : ranges_) EXPECT_TRUE(sim_.release(range.at, range.bytes).is_ok());
    for (StreamId stream : streams_) EXPECT_TRUE(sim_.destroy_stream(stream).is_ok());
    for (const TierUsage& usage : {layers_->device.usage(), layers_->host.usage(), layers_->file->usage()}) {
      EXPECT_EQ(usage.used, usage.lost) << "bytes of frames that were never freed";
    }
    if (const auto& backing = layers_->backing) {
      EXPECT_EQ(backing->usage().used, backing->usage().lost) << "host frames that were never freed";
    }
    if (const auto& zero_copy = layers_->zero_copy) {
      EXPECT_EQ(zero_copy->usage().used, zero_copy->usage().lost) << "host frames that were never freed";
    }
    if (const auto& peer = layers_->peer) {
      EXPECT_EQ(peer->usage().used, peer->usage().lost) << "peer frames that were never freed";
    }
    layers_.reset();
    for (const std::string& leak : sim_.leaks()) ADD_FAILURE() << "leaked " << leak;
  }

  Residency& residency() { return *layers_->residency; }
  const Status& created() const { return created_; }
  FaultDriver& fault() { return driver_; }
  SimDriver& sim() { return sim_; }
  MemoryFile& file() { return *io_; }
  TierStack tiers() { return layers_->tiers(); }
  EventLog& log() { return layers_->log; }
  std::uint64_t wrong() const { return wrong_.load(); }
  void forgive() { wrong_.store(0); }

  StreamId stream() {
    streams_.push_back(sim_.create_stream(DeviceId(0)).take());
    return streams_.back();
  }
  Address reserve(RunShape shape) {
    const Address at = sim_.reserve(shape.bytes(), kLargePage).take();
    ranges_.push_back({at, shape.bytes()});
    return at;
  }
  // A live run without frames.
  Run* add(RunShape shape = {0, 1}) {
    Run* run = layers_->residency->runs().add(reserve(shape), shape, TagId()).take();
    run->live.store(1);
    return run;
  }
  std::vector<Run*> add_many(std::size_t count, RunShape shape = {0, 1}) {
    std::vector<Run*> runs;
    for (std::size_t i = 0; i < count; ++i) runs.push_back(add(shape));
    return runs;
  }

  // Launches only the kernel, in a use announced by the test: it writes the generation, or compares with it. It
  // bypasses our driver wrapper, as a program's launches do.
  Status launch(Run* run, std::uint64_t generation, StreamId stream, Access access) {
    const PatternParameters parameters{reinterpret_cast<std::uint64_t*>(run->address.value()),
                                       run->shape.bytes().value(), run->address.value() + generation,
                                       access == Access::kWrite ? nullptr : &wrong_};
    Launch launch;
    launch.kernel = pattern_kernel();
    launch.parameters = std::as_bytes(std::span(&parameters, 1));
    return sim_.launch(launch, stream);
  }
  // Launches a kernel that touches an unmapped address: from then on the device returns only that error.
  void lose_device() {
    const PatternParameters parameters{reinterpret_cast<std::uint64_t*>(64), 2 << 20, 0, nullptr};
    Launch launch;
    launch.kernel = pattern_kernel();
    launch.parameters = std::as_bytes(std::span(&parameters, 1));
    EXPECT_TRUE(sim_.launch(launch, StreamId(0)).is_ok());
    EXPECT_FALSE(sim_.synchronize(DeviceId(0)).is_ok());
  }
  // One announced use of one run, with its kernel.
  Status write(Run* run, std::uint64_t generation, StreamId stream = StreamId(0)) {
    return use(run, generation, stream, Access::kWrite);
  }
  Status check(Run* run, std::uint64_t generation, StreamId stream = StreamId(0)) {
    return use(run, generation, stream, Access::kRead);
  }
  Status touch(std::vector<Run*> runs, Access access = Access::kRead, StreamId stream = StreamId(0)) {
    Use use;
    TESSERA_TRY(layers_->residency->begin_use(runs, stream, access, Use::Kind::kGate, use));
    layers_->residency->end_use(runs, stream, use);
    return {};
  }
  Status evict(Run* run) { return layers_->residency->evict({&run, 1}); }
  Status prefetch(Run* run) { return layers_->residency->prefetch({&run, 1}); }
  // Waits for all queued work, then for all moves.
  Status settle() {
    TESSERA_TRY(sim_.synchronize(DeviceId(0)));
    return drain();
  }
  // The first inconsistency in the engine's bookkeeping, or "ok".
  std::string valid() const {
    return layers_ && layers_->residency ? layers_->residency->figures().validate().to_string() : "ok";
  }

 private:
  struct Range {
    Address at;
    Bytes bytes;
  };

  // A busy machine may take longer than a test's patience.
  Status drain() {
    Status status;
    do status = layers_->residency->drain();
    while (status.code() == Code::kNotReady);
    return status;
  }
  Status use(Run* run, std::uint64_t generation, StreamId stream, Access access) {
    Use use;
    TESSERA_TRY(layers_->residency->begin_use({&run, 1}, stream, access, Use::Kind::kGate, use));
    Status launched = launch(run, generation, stream, access);
    layers_->residency->end_use({&run, 1}, stream, use);
    return launched;
  }

  SteadyClock steady_clock_;
  VirtualClock virtual_clock_;
  const Clock& clock_;
  std::unique_ptr<SimDriver> owned_sim_;
  SimDriver& sim_;
  FaultDriver driver_;
  MemoryFile* io_ = nullptr;
  std::unique_ptr<SimLayers> layers_;  // null after the end
  Status created_;
  std::vector<Range> ranges_;
  std::vector<StreamId> streams_;
  std::atomic<std::uint64_t> wrong_{0};
};

#define EXPECT_OK(expression)                                        \
  do {                                                               \
    const ::tessera::Status expect_status = (expression);            \
    EXPECT_TRUE(expect_status.is_ok()) << expect_status.to_string(); \
  } while (false)
#define ASSERT_OK(expression)                                        \
  do {                                                               \
    const ::tessera::Status assert_status = (expression);            \
    ASSERT_TRUE(assert_status.is_ok()) << assert_status.to_string(); \
  } while (false)

}  // namespace tessera
