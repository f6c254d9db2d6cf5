#include "sim/machine_builder.hpp"

#include <gtest/gtest.h>

#include "policy/policy.hpp"
#include "sim/sim_driver.hpp"

namespace tessera {
namespace {

constexpr Machine kBuilt{.device = 64_MiB,
                         .small = 2_MiB,
                         .host = 128_MiB,
                         .file = 256_MiB,
                         .out_rate = 2e9,
                         .in_rate = 4e9,
                         .file_write_rate = 1e9,
                         .file_read_rate = 5e8,
                         .mapping = Nanoseconds(45'000),
                         .copy_turn = Nanoseconds(300'000)};

TEST(MachineBuilder, DevicesHaveTheMemoryAndTheLinksOfTheMachine) {
  const SimOptions options = sim_options(kBuilt, 3);
  EXPECT_EQ(options.devices, 3);
  EXPECT_EQ(options.memory, 66_MiB);
  EXPECT_EQ(options.inbound.bytes_per_second, 4'000'000'000U);
  EXPECT_EQ(options.outbound.bytes_per_second, 2'000'000'000U);
  EXPECT_EQ(options.contents, SimContents::kNone);
  EXPECT_EQ(options.calls.mapping, kBuilt.mapping);
  EXPECT_EQ(options.calls.copy_turn, kBuilt.copy_turn);
}

TEST(MachineBuilder, APeerIsOneMoreDevice) {
  Machine machine = kBuilt;
  machine.peer = 96_MiB;
  EXPECT_EQ(sim_options(machine).devices, 1) << "a peer without a link lends nothing";
  machine.peer_rate = 3e9;
  const SimOptions options = sim_options(machine, 2);
  EXPECT_EQ(options.devices, 3);
  EXPECT_EQ(options.memory, 96_MiB);
  EXPECT_EQ(options.peer.bytes_per_second, 3'000'000'000U);
}

TEST(MachineBuilder, TheDiskHasItsRates) {
  VirtualClock clock;
  const auto disk = sim_disk(clock, kBuilt);
  ASSERT_TRUE(disk->wait(disk->write(nullptr, Bytes(1'000'000), Bytes()).take()).is_ok());
  EXPECT_EQ(clock.now(), Nanoseconds(1'000'000));
  ASSERT_TRUE(disk->wait(disk->read(nullptr, Bytes(1'000'000), Bytes()).take()).is_ok());
  EXPECT_EQ(clock.now(), Nanoseconds(3'000'000));
  EXPECT_EQ(sim_file(clock, kBuilt)->usage().capacity, 256_MiB);
}

TEST(MachineBuilder, ThePumpIsDueOncePerInterval) {
  VirtualClock clock;
  SimPump pump;
  EXPECT_TRUE(pump.is_due(clock));
  EXPECT_FALSE(pump.is_due(clock));
  clock.run_until(Nanoseconds(99'999));
  EXPECT_FALSE(pump.is_due(clock));
  clock.run_until(Nanoseconds(100'000));
  EXPECT_TRUE(pump.is_due(clock));
}

TEST(MachineBuilder, LayersServeABlockAndTakeItBack) {
  VirtualClock clock;
  NoHostPages host_pages;
  SimDriver driver(sim_options(kBuilt), clock);
  {
    SimLayers layers(driver, clock, {.device = kBuilt.device, .host = kBuilt.host}, sim_file(clock, kBuilt),
                     host_pages);
    EXPECT_EQ(layers.tiers().capacity(), kBuilt.device + kBuilt.host + kBuilt.file);
    EXPECT_EQ(layers.backing, nullptr);
    EXPECT_EQ(layers.peer, nullptr);
    ASSERT_TRUE(layers.add_residency(make_policy("lru").take()).is_ok());
    ASSERT_TRUE(layers.add_pages(1_GiB, 1_GiB).is_ok());
    layers.add_blocks();
    const StreamId stream = driver.create_stream(DeviceId()).take();
    const Address block = layers.blocks->allocate(8_MiB, stream, TagId()).take();
    EXPECT_GE(layers.device.usage().used, 8_MiB);
    EXPECT_TRUE(layers.blocks->free(block, stream).is_ok());
    EXPECT_TRUE(driver.destroy_stream(stream).is_ok());
  }
  EXPECT_TRUE(driver.leaks().empty());
}

}  // namespace
}  // namespace tessera
