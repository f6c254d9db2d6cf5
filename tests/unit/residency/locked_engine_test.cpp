#include "residency/locked_engine.hpp"

#include <memory>

#include "held_kernel.hpp"
#include "residency_fixture.hpp"

namespace tessera {
namespace {

TEST(LockedEngineTest, AWaitForTheDeviceEndsWithItsWorkOrThePatience) {
  ResidencyMachine machine;
  SimDriver& sim = machine.sim();
  SteadyClock clock;
  EventLog log(clock, 16);
  DeviceTier device(sim, DeviceId(0), 16_MiB);
  HostTier host(sim, 16_MiB, 8_MiB);
  FileTier file(nullptr, Bytes());
  ResidencyOptions options;
  options.patience = Nanoseconds(1'000'000);
  auto lanes = CopyLanes::create(sim, DeviceId(0), 0);
  ASSERT_OK(lanes.status());
  LockedEngine engine(sim, DeviceId(0), {device, host, file}, make_policy("lru").take(), log, options, lanes.take());
  const StreamId stream = machine.stream();
  HeldKernel work;
  ASSERT_OK(work.launch(sim, stream));
  const Status late = engine.await_device();
  EXPECT_EQ(late.code(), Code::kNotReady);
  EXPECT_NE(late.message().find("a kernel may be waiting"), std::string_view::npos) << late.message();
  work.let_go();
  ASSERT_OK(sim.synchronize(stream));
  EXPECT_OK(engine.await_device());
}

}  // namespace
}  // namespace tessera
