// Copies between two simulated devices: their time, their engine, and concurrent work.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <vector>

#include "base/virtual_clock.hpp"
#include "sim/sim_driver.hpp"
#include "sim/sim_watcher.hpp"

namespace tessera {
namespace {

constexpr DeviceId kOwn{0}, kPeer{1}, kThird{2};

// A page of each of three devices, and one of the host, in sequence at `at_`; a byte takes 1 ns over a link between
// devices, and 2 ns from the host.
class SimPeerCopies : public testing::Test, public SimWatcher {
 protected:
  explicit SimPeerCopies(bool links_apart = false)
      : links_apart_(links_apart),
        driver_({.devices = 3,
                 .memory = 8_MiB,
                 .inbound = {500'000'000, {}},
                 .outbound = {500'000'000, {}},
                 .peer = {1'000'000'000, Nanoseconds(7)},
                 .peer_links_apart = links_apart,
                 .watcher = this},
                clock_) {
    at_ = driver_.reserve(10_MiB, 2_MiB).take();
    add(kOwn);
    add(kPeer);
    add(kThird);
    add(kOwn, FrameLocation::kHost);
    add(kPeer, FrameLocation::kHost);
    EXPECT_TRUE(driver_.set_access(peers_host(), 2_MiB, kOwn).is_ok());
  }
  ~SimPeerCopies() override {
    for (const DeviceId device : {kOwn, kPeer, kThird}) EXPECT_TRUE(driver_.synchronize(device).is_ok());
    for (const StreamId stream : streams_) EXPECT_TRUE(driver_.destroy_stream(stream).is_ok());
    EXPECT_TRUE(driver_.unmap(at_, 10_MiB).is_ok());
    for (const FrameId frame : frames_) EXPECT_TRUE(driver_.destroy_frame(frame).is_ok());
    EXPECT_TRUE(driver_.release(at_, 10_MiB).is_ok());
  }

  void add(DeviceId device, FrameLocation location = FrameLocation::kDevice) {
    const Address here = at_ + 2_MiB * frames_.size();
    frames_.push_back(driver_.create_frame(device, location, 2_MiB).take());
    EXPECT_TRUE(driver_.map(here, 2_MiB, frames_.back()).is_ok());
    EXPECT_TRUE(driver_.set_access(here, 2_MiB, device).is_ok());
  }
  StreamId stream(DeviceId device = kOwn) {
    streams_.push_back(driver_.create_stream(device).take());
    return streams_.back();
  }
  void copy(Address to, Address from, StreamId stream) {
    const Status status = driver_.copy(to, from, 1_MiB, stream);
    EXPECT_TRUE(status.is_ok()) << status.to_string();
  }
  // The engine for such a copy on a stream of the first device.
  SimEngine engine_of(Address to, Address from) {
    ran_.clear();
    const StreamId on = stream();
    copy(to, from, on);
    EXPECT_TRUE(driver_.synchronize(on).is_ok());
    EXPECT_EQ(ran_.size(), 1u);
    return ran_.empty() ? SimEngine::kMarker : ran_.front();
  }
  void ran(DeviceId device, SimEngine engine, const SimWork&, Nanoseconds, Nanoseconds) override {
    if (!links_apart_) {
      EXPECT_EQ(device, kOwn) << "another device's engine";
    }
    devices_.insert(device);
    ran_.push_back(engine);
  }
  static unsigned char byte_at(Address address) { return *reinterpret_cast<const unsigned char*>(address.value()); }

  const bool links_apart_;
  VirtualClock clock_;
  std::vector<SimEngine> ran_;
  std::set<DeviceId> devices_;  // with engines that ran something
  SimDriver driver_;
  std::vector<FrameId> frames_;
  std::vector<StreamId> streams_;
  Address at_;
  const Address& own_ = at_;
  Address peer() const { return at_ + 2_MiB; }
  Address third() const { return at_ + 4_MiB; }
  Address host() const { return at_ + 6_MiB; }
  Address peers_host() const { return at_ + 8_MiB; }
};

class SimPeerLinksApart : public SimPeerCopies {
 protected:
  SimPeerLinksApart() : SimPeerCopies(true) {}
};

TEST_F(SimPeerCopies, BytesArriveAfterTheTimeOfTheLinkBetweenTheDevices) {
  std::memset(reinterpret_cast<void*>(peer().value()), 5, (1_MiB).value());
  const StreamId on = stream();
  copy(own_, peer(), on);
  EXPECT_EQ(byte_at(own_), 0);
  ASSERT_TRUE(driver_.synchronize(on).is_ok());
  EXPECT_EQ(clock_.now(), Nanoseconds((1_MiB).value() + 7));
  EXPECT_EQ(byte_at(own_), 5);
  copy(third(), own_, on);
  ASSERT_TRUE(driver_.synchronize(on).is_ok());
  EXPECT_EQ(clock_.now(), Nanoseconds(2 * ((1_MiB).value() + 7)));
  EXPECT_EQ(byte_at(third()), 5);
}

TEST_F(SimPeerCopies, OverlapHostCopiesAndRunInOrderInEachDirection) {
  copy(own_, peer(), stream());
  copy(own_ + 1_MiB, third(), stream());
  copy(peer() + 1_MiB, own_, stream());
  copy(own_, host(), stream());
  ASSERT_TRUE(driver_.synchronize(kOwn).is_ok());
  EXPECT_EQ(clock_.now(), Nanoseconds(2 * ((1_MiB).value() + 7))) << "two in, and the others meanwhile";
}

// In place of two after one another.
TEST_F(SimPeerLinksApart, CopiesOfDifferentDevicesOverlap) {
  copy(own_, peer(), stream());
  copy(own_ + 1_MiB, third(), stream());
  copy(peer() + 1_MiB, own_, stream());
  ASSERT_TRUE(driver_.synchronize(kOwn).is_ok());
  EXPECT_EQ(clock_.now(), Nanoseconds((1_MiB).value() + 7));
  EXPECT_EQ(devices_, (std::set{kPeer, kThird})) << "the links are those of the devices at the other end";
}

TEST_F(SimPeerLinksApart, CopiesOfOneDeviceRunInOrder) {
  copy(own_, peer(), stream());
  copy(own_ + 1_MiB, peer() + 1_MiB, stream());
  ASSERT_TRUE(driver_.synchronize(kOwn).is_ok());
  EXPECT_EQ(clock_.now(), Nanoseconds(2 * ((1_MiB).value() + 7)));
}

TEST_F(SimPeerCopies, TheStreamsDeviceDecidesTheDirection) {
  EXPECT_EQ(engine_of(own_, peer()), SimEngine::kPeerIn);
  EXPECT_EQ(engine_of(peer(), own_), SimEngine::kPeerOut);
  EXPECT_EQ(engine_of(third(), peer()), SimEngine::kPeerIn) << "neither is the stream's";
}

TEST_F(SimPeerCopies, LocalCopiesUseNoPeerLink) {
  EXPECT_EQ(engine_of(own_ + 1_MiB, own_), SimEngine::kCompute);
  EXPECT_EQ(engine_of(peer() + 1_MiB, peer()), SimEngine::kCompute);
  EXPECT_EQ(engine_of(host(), peers_host()), SimEngine::kCompute) << "host memory is of no device";
  EXPECT_EQ(clock_.now(), Nanoseconds(0));
  EXPECT_EQ(engine_of(own_, peers_host()), SimEngine::kInbound);
  EXPECT_EQ(engine_of(host(), peer()), SimEngine::kOutbound);
}

}  // namespace
}  // namespace tessera
