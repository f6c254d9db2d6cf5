// Two allocators of this process that share a device, as two programs do: each has a driver of its own, and the devices
// have their memory in common.
#include "api/device_share.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include <fmt/core.h>

#include "api/allocator.hpp"
#include "driver/native_codes.hpp"
#include "node/device_view.hpp"
#include "node/ledger_view.hpp"
#include "sim/fault_driver.hpp"
#include "sim/sim_driver.hpp"
#include "sim/sim_hardware.hpp"

namespace tessera {
namespace {

constexpr Bytes kMemory = 64_MiB;
constexpr Bytes kBlock = 2_MiB;

class CommonMemory final : public SimHardware {
 public:
  bool take(DeviceId, Bytes bytes) override {
    const MutexLock lock(mutex_);
    if (free_ < bytes) return false;
    free_ -= bytes;
    return true;
  }
  void give(DeviceId, Bytes bytes) override {
    const MutexLock lock(mutex_);
    free_ += bytes;
  }
  Bytes free(DeviceId) override {
    const MutexLock lock(mutex_);
    return free_;
  }
  void enter(DeviceId, SimEngine) override {}
  void leave(DeviceId, SimEngine, bool) override {}
  void pause(DeviceId, SimEngine) override {}

 private:
  Mutex mutex_{LockRank::kSimulation};
  Bytes free_ GUARDED_BY(mutex_) = kMemory;
};

class DeviceShareTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "no /dev/shm";
  }
  ~DeviceShareTest() override {
    for (const std::string& file : {name_, name_ + "." + kUuid}) std::filesystem::remove(path(file));
  }

  static std::string path(const std::string& file) {
    return fmt::format("/dev/shm/tessera-{}/{}", ::geteuid(), ledger_file_name(file));
  }
  SimOptions sim_options() {
    SimOptions options;
    options.memory = kMemory;
    options.hardware = &memory_;
    options.uuid = kUuid;
    return options;
  }
  std::unique_ptr<Allocator> program(const std::function<void(Options&)>& change = {}) {
    return program_on(std::make_unique<SimDriver>(sim_options(), clock_), change);
  }
  std::unique_ptr<Allocator> program_on(std::unique_ptr<Driver> driver,
                                        const std::function<void(Options&)>& change = {}) {
    Options options;
    options.node = name_;
    options.node_host_memory = SizeOrShare(1_GiB);
    options.time_slice = 100;
    options.log_level = "quiet";
    if (change) change(options);
    auto made = Allocator::create(
        Foundations{clock_, std::move(driver), FileTier::open("", Bytes()).take(), system_host_pages()}, options);
    EXPECT_TRUE(made.is_ok()) << made.status().to_string();
    return made.take();
  }
  static std::vector<Address> allocate(Allocator& program, Bytes bytes) {
    std::vector<Address> blocks;
    for (Bytes had; had < bytes; had += kBlock) {
      const auto block = program.allocate(DeviceId(), kBlock, StreamId());
      EXPECT_TRUE(block.is_ok()) << block.status().to_string();
      if (!block.is_ok()) break;
      blocks.push_back(block.value());
    }
    return blocks;
  }
  static Status use(Allocator& program, std::span<const Address> blocks) {
    AnnouncedUse use;
    TESSERA_TRY(program.uses().begin(blocks, StreamId(), Access::kWrite, Use::Kind::kGate, "", use));
    program.uses().end(use);
    return {};
  }
  // On a busy machine a program may keep the lock for longer than a tool waits.
  static LedgerView view(LedgerFile& file) {
    for (;;) {
      auto seen = view_ledger(file);
      if (seen.is_ok()) return seen.take();
      EXPECT_EQ(seen.status().code(), Code::kBusy) << seen.status().to_string();
      if (seen.status().code() != Code::kBusy) return {};
    }
  }
  static void free_all(Allocator& program, const std::vector<Address>& blocks) {
    for (const Address block : blocks) EXPECT_TRUE(program.free(block, StreamId()).is_ok());
  }

  static constexpr const char* kUuid = "00112233445566778899aabbccddeeff";
  const std::string name_ = fmt::format("device-share-test-{}", ::getpid());
  SteadyClock clock_;
  CommonMemory memory_;
};

TEST_F(DeviceShareTest, WhatAnIdleProgramHoldsIsThereForAnother) {
  const auto idle = program();
  const std::vector<Address> first = allocate(*idle, 60_MiB);
  ASSERT_TRUE(use(*idle, first).is_ok());
  std::this_thread::sleep_for(std::chrono::nanoseconds((kDeviceIdleAfter + kDeviceIdleAfter / 2).value()));
  const auto other = program();
  const std::vector<Address> second = allocate(*other, 40_MiB);
  EXPECT_EQ(second.size(), 20U);
  EXPECT_TRUE(use(*other, second).is_ok());
  EXPECT_EQ(other->memory().info(DeviceId()).value().total, kMemory);
  EXPECT_GE(other->memory().info(DeviceId()).value().free, 20_MiB) << "it could have the rest as well";
  free_all(*other, second);
  free_all(*idle, first);
}

TEST_F(DeviceShareTest, TwoThatNeedMostOfTheDeviceBothGoOn) {
  const auto one = program(), two = program();
  const std::vector<Address> first = allocate(*one, 48_MiB), second = allocate(*two, 48_MiB);
  std::thread other([&] {
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(use(*two, second).is_ok());
  });
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(use(*one, first).is_ok());
  other.join();
  free_all(*one, first);
  free_all(*two, second);
}

TEST_F(DeviceShareTest, ALimitHoldsHoweverMuchIsFree) {
  const auto other = program();
  const std::vector<Address> held = allocate(*other, 8_MiB);
  const auto limited = program([](Options& options) { options.device_memory = SizeOrShare(24_MiB); });
  const std::vector<Address> blocks = allocate(*limited, 40_MiB);
  const MemoryInfo info = limited->memory().info(DeviceId()).value();
  EXPECT_EQ(info.free, Bytes());
  EXPECT_EQ(info.total, kMemory);
  EXPECT_GE(memory_.free(DeviceId()), 32_MiB) << "it holds no more";
  free_all(*limited, blocks);
  EXPECT_EQ(limited->memory().info(DeviceId()).value().free, 24_MiB);
  free_all(*other, held);
}

TEST_F(DeviceShareTest, ADamagedLedgerLeavesTheProgramAlone) {
  const std::filesystem::path folder = std::filesystem::path(path(name_)).parent_path();
  std::filesystem::create_directories(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  // Renamed when it is whole: a program of another test may remove an empty one.
  const std::string written = path(name_ + "." + kUuid) + ".new";
  std::ofstream(written) << "damaged";
  std::filesystem::permissions(written, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::rename(written, path(name_ + "." + kUuid));
  const auto alone = program();
  const std::vector<Address> blocks = allocate(*alone, 32_MiB);
  EXPECT_TRUE(use(*alone, blocks).is_ok());
  free_all(*alone, blocks);
  EXPECT_EQ(std::filesystem::file_size(path(name_ + "." + kUuid)), 7U) << "it is left as it was";
}

TEST_F(DeviceShareTest, ALimitCanBeSetAndRemovedWhileTheProgramRuns) {
  const auto running = program();
  const std::vector<Address> blocks = allocate(*running, 60_MiB);
  ASSERT_TRUE(use(*running, blocks).is_ok());
  const auto file = open_ledger_file({"/dev/shm"}, name_, kUuid).take();
  const auto free_after = [this](auto holds) {  // however long it takes
    while (!holds(memory_.free(DeviceId()))) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  };
  ASSERT_TRUE(set_device_limit(*file, this_process(), 32_MiB).is_ok());
  free_after([](Bytes free) { return free >= 32_MiB; });
  EXPECT_EQ(running->memory().info(DeviceId()).value().free, Bytes());
  const auto use_each = [&] {
    for (const Address block : blocks) EXPECT_TRUE(use(*running, {&block, 1}).is_ok());
  };
  use_each();
  EXPECT_GE(memory_.free(DeviceId()), 32_MiB) << "its blocks replace each other";
  const LedgerRow row = view(*file).rows.front();
  EXPECT_EQ(Bytes(row.ceiling), 32_MiB);
  EXPECT_GT(Bytes(row.limit), 32_MiB);
  EXPECT_EQ(set_device_limit(*file, this_process(), kMemory + 2_MiB).code(), Code::kInvalidArgument);
  ASSERT_TRUE(set_device_limit(*file, this_process(), Bytes()).is_ok());
  free_after([&](Bytes free) {  // the ledger has the ceiling before the program fetches up to it
    use_each();
    return free <= 4_MiB;
  });
  EXPECT_GE(Bytes(view(*file).rows.front().ceiling), 60_MiB);
  free_all(*running, blocks);
}

TEST_F(DeviceShareTest, ALimitMayBeRaisedAboveThatOfTheOptions) {
  const auto running = program([](Options& options) { options.device_memory = SizeOrShare(32_MiB); });
  const std::vector<Address> blocks = allocate(*running, 48_MiB);
  const auto file = open_ledger_file({"/dev/shm"}, name_, kUuid).take();
  const auto free = [&] { return running->memory().info(DeviceId()).value().free; };
  const auto until = [](auto holds) {  // however long it takes
    while (!holds()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  };
  const auto use_each = [&] {
    for (const Address block : blocks) EXPECT_TRUE(use(*running, {&block, 1}).is_ok());
  };
  use_each();
  EXPECT_EQ(free(), Bytes());
  EXPECT_GE(memory_.free(DeviceId()), 32_MiB);
  ASSERT_TRUE(set_device_limit(*file, this_process(), 56_MiB).is_ok());
  until([&] { return free() == 8_MiB; });
  use_each();
  EXPECT_EQ(memory_.free(DeviceId()), 16_MiB) << "all of them are there";
  ASSERT_TRUE(set_device_limit(*file, this_process(), kMemory).is_ok());
  until([&] { return free() > 8_MiB; });
  EXPECT_LT(free(), 16_MiB) << "the driver keeps its reserve";
  ASSERT_TRUE(set_device_limit(*file, this_process(), Bytes()).is_ok());
  until([&] { return memory_.free(DeviceId()) >= 32_MiB && free() == Bytes(); });
  use_each();
  EXPECT_GE(memory_.free(DeviceId()), 32_MiB) << "its blocks replace each other again";
  free_all(*running, blocks);
}

// Each counts its own turns and what its calls have waited for them.
TEST_F(DeviceShareTest, TurnsAndWaitsAreInTheLedger) {
  const auto one = program(), two = program();
  const std::vector<Address> first = allocate(*one, 48_MiB), second = allocate(*two, 48_MiB);
  const auto file = open_ledger_file({"/dev/shm"}, name_, kUuid).take();
  std::atomic<bool> counted = false;
  // The thread that looks uses no block: it would see nothing while it waits for a turn itself.
  std::thread one_user([&] {
    while (!counted) EXPECT_TRUE(use(*one, first).is_ok());
  });
  std::thread two_user([&] {
    while (!counted) EXPECT_TRUE(use(*two, second).is_ok());
  });
  bool has = false, waits = false;
  while (!counted) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const DeviceView seen = device_view(view(*file), clock_.now());
    EXPECT_EQ(seen.programs.size(), 2U);
    std::size_t holders = 0, had = 0;
    for (const DeviceProgram& program : seen.programs) {
      holders += program.turn == Turn::kHas ? 1U : 0U;
      waits = waits || program.turn == Turn::kWaits;
      had += program.row.turns > 0 && program.row.waited_ns > 0 ? 1U : 0U;
    }
    EXPECT_LE(holders, 1U);
    has = has || holders == 1;
    counted = seen.programs.size() != 2 || (has && waits && had == 2);
  }
  one_user.join();
  two_user.join();
  free_all(*one, first);
  free_all(*two, second);
}

// Seen on a GPU: the driver's exit handlers run before ours, and the pump looks in between.
TEST_F(DeviceShareTest, ADriverThatHasEndedIsNoReasonForAWarning) {
  for (const int code : {native::kDeinitialized, native::kUnknown}) {
    SimDriver device(sim_options(), clock_);
    auto made = std::make_unique<FaultDriver>(device);
    FaultDriver& driver = *made;
    ::testing::internal::CaptureStderr();
    {
      const auto alone = program_on(std::move(made), [](Options& options) { options.log_level = "warning"; });
      const std::vector<Address> blocks = allocate(*alone, kBlock);
      driver.fail({DriverCall::kMemoryInfo, 1, Status(Code::kDriver, "the driver has ended", code), true});
      for (int i = 0; driver.failed() == 0 && i < 6000; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      EXPECT_NE(driver.failed(), 0U);
      driver.clear();
      free_all(*alone, blocks);
    }
    const std::string said = ::testing::internal::GetCapturedStderr();
    const bool warned = said.find("not shared") != std::string::npos;
    EXPECT_EQ(warned, code == native::kUnknown) << said;
  }
}

TEST_F(DeviceShareTest, WithoutSharingThereIsNoLedgerOfTheDevice) {
  const auto off = program([](Options& options) { options.share = "off"; });
  free_all(*off, allocate(*off, 8_MiB));
  EXPECT_FALSE(std::filesystem::exists(path(name_ + "." + kUuid)));
}

}  // namespace
}  // namespace tessera
