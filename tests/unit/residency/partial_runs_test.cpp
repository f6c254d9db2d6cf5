// Launches that need more than the device has.
#include "residency_fixture.hpp"

namespace tessera {
namespace {

// The device has eight base pages, one of which is kept for other blocks; host memory has thirty-two.
class PartialRuns : public testing::Test {
 protected:
  explicit PartialRuns(const ResidencySetup& setup = {.device = 16_MiB, .host = 64_MiB, .zero_copy = true})
      : machine_(setup) {}
  Bytes in_host(const tessera::Run* run) { return run->bytes_in(PageState::kZeroCopy); }
  // The program waits for the device.
  void wait() {
    const Epoch before = machine_.residency().before_wait();
    ASSERT_OK(machine_.sim().synchronize(DeviceId(0)));
    machine_.residency().note_over(std::nullopt, before);
  }
  void expect_right() {
    ASSERT_OK(machine_.settle());
    EXPECT_EQ(machine_.wrong(), 0U);
    EXPECT_EQ(machine_.valid(), "ok");
  }

  ResidencyMachine machine_;
};

TEST_F(PartialRuns, AFreshRunLargerThanTheDeviceIsUsed) {
  tessera::Run* const run = machine_.add({0, 12});
  ASSERT_OK(machine_.write(run, 1));
  EXPECT_EQ(in_host(run), 10_MiB) << "8 MiB too many, and 2 MiB are kept";
  EXPECT_EQ(run->missing.load(), 0U);
  ASSERT_OK(machine_.check(run, 1));
  ASSERT_OK(machine_.write(run, 2));
  ASSERT_OK(machine_.check(run, 2));
  EXPECT_EQ(in_host(run), 10_MiB) << "nothing moves";
  expect_right();
  EXPECT_EQ(machine_.residency().figures().stats().evictions, 0U);
}

TEST_F(PartialRuns, BytesOnTheDeviceAndInHostMemoryAreKept) {
  tessera::Run* const a = machine_.add({0, 6});
  tessera::Run* const b = machine_.add({0, 6});
  ASSERT_OK(machine_.write(a, 1));
  ASSERT_OK(machine_.write(b, 1));
  ASSERT_NE(a->missing.load(), 0U) << "part of it is in host memory, and not mapped";
  ASSERT_OK(machine_.touch({a, b}));
  EXPECT_EQ(in_host(a) + in_host(b), 10_MiB);
  EXPECT_EQ(a->missing.load() + b->missing.load(), 0U);
  ASSERT_OK(machine_.check(a, 1));
  ASSERT_OK(machine_.check(b, 1));
  expect_right();
}

TEST_F(PartialRuns, OtherBlocksMoveAsBefore) {
  tessera::Run* const large = machine_.add({0, 12});
  const auto small = machine_.add_many(6);
  ASSERT_OK(machine_.write(large, 1));
  for (std::uint64_t round = 1; round <= 3; ++round) {
    for (tessera::Run* const run : small) ASSERT_OK(machine_.write(run, round));
    ASSERT_OK(machine_.check(large, 1));
    for (tessera::Run* const run : small) ASSERT_OK(machine_.check(run, round));
  }
  EXPECT_EQ(in_host(large), 10_MiB);
  for (tessera::Run* const run : small) EXPECT_EQ(in_host(run), 0_B);
  expect_right();
}

// The device has 64 base pages. One is kept at first; six others are used between two uses of the large run, whose
// pages leave for them once and are used in host memory from then on.
TEST_F(PartialRuns, PagesThatLeaveForOtherBlocksAreNotFetchedForEachLaunch) {
  ResidencyMachine machine({.device = 128_MiB, .host = 256_MiB, .zero_copy = true, .sim = {.memory = 128_MiB}});
  tessera::Run* const large = machine.add({0, 72});
  const auto others = machine.add_many(6);
  const auto round = [&](std::uint64_t generation) {
    for (tessera::Run* const run : others) ASSERT_OK(machine.write(run, generation));
    ASSERT_OK(machine.check(large, 1));
    for (tessera::Run* const run : others) ASSERT_OK(machine.check(run, generation));
  };
  ASSERT_OK(machine.write(large, 1));
  EXPECT_EQ(in_host(large), 18_MiB) << "9 pages";
  for (std::uint64_t n = 1; n <= 8; ++n) round(n);
  EXPECT_EQ(in_host(large), 28_MiB) << "14 pages";
  const std::uint64_t moves = machine.residency().figures().stats().fetches;
  round(9);
  EXPECT_EQ(machine.residency().figures().stats().fetches, moves);
}

// At most an eighth of the device is kept: more blocks than that move as before.
TEST_F(PartialRuns, ManyOtherBlocksGoOnMoving) {
  ResidencyMachine machine({.device = 128_MiB, .host = 256_MiB, .zero_copy = true, .sim = {.memory = 128_MiB}});
  tessera::Run* const large = machine.add({0, 72});
  const auto others = machine.add_many(20);
  ASSERT_OK(machine.write(large, 1));
  for (std::uint64_t n = 1; n <= 12; ++n) {
    for (tessera::Run* const run : others) ASSERT_OK(machine.write(run, n));
    ASSERT_OK(machine.check(large, 1));
    for (tessera::Run* const run : others) ASSERT_OK(machine.check(run, n));
  }
  EXPECT_EQ(in_host(large), 32_MiB) << "8 pages too many, and 8 that are kept";
}

TEST_F(PartialRuns, ARunThatHasToStayOnTheDeviceDoes) {
  tessera::Run* const pinned = machine_.add({0, 5});
  ASSERT_OK(machine_.write(pinned, 1));
  ASSERT_OK(machine_.residency().pins().pin(pinned));
  tessera::Run* const other = machine_.add({0, 5});
  ASSERT_OK(machine_.touch({pinned, other}, Access::kWrite));
  EXPECT_EQ(in_host(pinned), 0_B);
  EXPECT_EQ(in_host(other), 6_MiB);
  ASSERT_OK(machine_.residency().pins().unpin(pinned));
  expect_right();
}

TEST_F(PartialRuns, ARunIsWholeOnceItIsPinned) {
  tessera::Run* const a = machine_.add({0, 6});
  tessera::Run* const b = machine_.add({0, 6});
  ASSERT_OK(machine_.write(a, 1));
  ASSERT_OK(machine_.write(b, 1));
  ASSERT_OK(machine_.touch({a, b}));
  tessera::Run* const partial = in_host(a) > in_host(b) ? a : b;
  ASSERT_OK(machine_.residency().pins().pin(partial));
  EXPECT_EQ(in_host(partial), 0_B);
  ASSERT_OK(machine_.check(a, 1));
  ASSERT_OK(machine_.check(b, 1));
  ASSERT_OK(machine_.residency().pins().unpin(partial));
  expect_right();
}

// As the work of another device, which this one cannot wait for.
TEST_F(PartialRuns, NothingMovesWhileACallUsesItWhereItIs) {
  ResidencyMachine machine(
      {.device = 16_MiB, .host = 64_MiB, .zero_copy = true, .patience = Nanoseconds(1'000'000)});  // a pin waits for 30
  tessera::Run* const a = machine.add({0, 6});
  tessera::Run* const b = machine.add({0, 6});
  ASSERT_OK(machine.touch({a, b}, Access::kWrite));
  tessera::Run* const partial = in_host(a) > in_host(b) ? a : b;
  const Bytes before = in_host(partial);
  ASSERT_NE(before, 0_B);
  ASSERT_OK(machine.settle());
  ASSERT_OK(machine.residency().runs().remove(partial == a ? b : a));
  Use use;
  ASSERT_OK(machine.residency().begin_use({&partial, 1}, kNoStream, Access::kRead, Use::Kind::kHold, use));
  const auto let_it_return = [&] {
    for (std::uint32_t i = 0; i < 2 * tessera::PartialRuns::kQuietPoints; ++i) {
      machine.residency().note_over(std::nullopt, machine.residency().before_wait());
    }
  };
  let_it_return();
  EXPECT_EQ(machine.residency().pins().pin(partial).code(), Code::kBusy);
  EXPECT_EQ(in_host(partial), before);
  machine.residency().end_use({&partial, 1}, kNoStream, use);
  EXPECT_OK(machine.residency().pins().pin(partial));
  EXPECT_EQ(in_host(partial), 0_B);
  EXPECT_OK(machine.residency().pins().unpin(partial));
  EXPECT_EQ(machine.valid(), "ok");
}

// Both devices have heaps, and a block of one of them is partial.
class PartialRunsOfTwoDevices : public PartialRuns {
 protected:
  PartialRunsOfTwoDevices()
      : PartialRuns({.device = 16_MiB, .host = 64_MiB, .zero_copy = true, .sim = {.devices = 2, .memory = 64_MiB}}) {}
  void SetUp() override {
    ASSERT_OK(machine_.tiers().zero_copy->admit(DeviceId(1)));
    ASSERT_OK(machine_.write(run_, 1));
    ASSERT_OK(machine_.settle());
  }

  tessera::Run* run_ = machine_.add({0, 12});
};

// A copy between devices: its stream is the other device's.
TEST_F(PartialRunsOfTwoDevices, ACopyOfAnotherDeviceReachesAllOfIt) {
  ASSERT_NE(in_host(run_), 0_B);
  const StreamId other = machine_.sim().create_stream(DeviceId(1)).take();
  std::vector<std::uint64_t> words(run_->shape.bytes() / 8_B);
  Use use;
  ASSERT_OK(machine_.residency().begin_use({&run_, 1}, kNoStream, Access::kRead, Use::Kind::kHold, use));
  EXPECT_OK(machine_.sim().copy_out(words.data(), run_->address, run_->shape.bytes(), other));
  EXPECT_OK(machine_.sim().synchronize(other));
  machine_.residency().end_use({&run_, 1}, kNoStream, use);
  for (std::size_t i = 0; i < words.size(); i += PatternParameters::kStride) {
    ASSERT_EQ(words[i], word_pattern(run_->address.value() + 1, i));
  }
  EXPECT_OK(machine_.sim().destroy_stream(other));
  ASSERT_OK(machine_.check(run_, 1));
}

TEST_F(PartialRunsOfTwoDevices, ADriverThatRefusesAccessToAnotherDeviceFailsItsUseAlone) {
  machine_.fault().fail({DriverCall::kSetAccess, 1, Status(Code::kDriver, "injected", 999)});
  Use use;
  const auto begin = [&] {
    return machine_.residency().begin_use({&run_, 1}, kNoStream, Access::kRead, Use::Kind::kHold, use);
  };
  EXPECT_EQ(begin().native_code(), 999);
  machine_.fault().clear();
  EXPECT_EQ(run_->holds.load(), 0U);
  ASSERT_OK(begin());
  machine_.residency().end_use({&run_, 1}, kNoStream, use);
  EXPECT_EQ(run_->holds.load(), 0U);
  ASSERT_OK(machine_.check(run_, 1));
}

TEST_F(PartialRuns, AUseWithAnotherWayOutIsRefused) {
  tessera::Run* const run = machine_.add({0, 12});
  Use use{.oversized = Oversized::kRefused};
  const Status begun = machine_.residency().begin_use({&run, 1}, StreamId(0), Access::kRead, Use::Kind::kGate, use);
  EXPECT_EQ(begun.code(), Code::kOutOfMemory);
  EXPECT_EQ(in_host(run), 0_B);
}

TEST_F(PartialRuns, HostMemoryThatIsTooSmallIsAnError) {
  ResidencyMachine machine({.device = 16_MiB, .host = 16_MiB, .zero_copy = true});
  tessera::Run* const other = machine.add({0, 3});
  ASSERT_OK(machine.write(other, 1));
  ASSERT_OK(machine.evict(other));
  tessera::Run* const run = machine.add({0, 13});
  const Status status = machine.write(run, 1);
  EXPECT_EQ(status.code(), Code::kOutOfMemory);
  EXPECT_NE(status.message().find("host-memory"), std::string::npos) << status.to_string();
  EXPECT_EQ(machine.valid(), "ok");
}

TEST_F(PartialRuns, WithoutSuchMemoryItIsAnErrorAsBefore) {
  ResidencyMachine machine({.device = 16_MiB, .host = 64_MiB});
  tessera::Run* const run = machine.add({0, 12});
  EXPECT_EQ(machine.write(run, 1).code(), Code::kOutOfMemory);
}

TEST_F(PartialRuns, WhatIsInTheFileAloneIsLoaded) {
  ResidencyMachine machine({.device = 16_MiB, .host = 24_MiB, .file = 64_MiB, .zero_copy = true});
  tessera::Run* const a = machine.add({0, 6});
  tessera::Run* const b = machine.add({0, 6});
  tessera::Run* const c = machine.add({0, 6});
  for (tessera::Run* const run : {a, b, c}) ASSERT_OK(machine.write(run, 1));
  ASSERT_OK(machine.touch({a, b, c}));
  ASSERT_OK(machine.settle());
  EXPECT_EQ(a->missing.load() + b->missing.load() + c->missing.load(), 0U);
  for (tessera::Run* const run : {a, b, c}) ASSERT_OK(machine.check(run, 1));
  ASSERT_OK(machine.settle());
  EXPECT_EQ(machine.wrong(), 0U);
}

TEST_F(PartialRuns, PagesReturnWhereTheProgramWaits) {
  tessera::Run* const a = machine_.add({0, 6});
  tessera::Run* const b = machine_.add({0, 6});
  ASSERT_OK(machine_.write(a, 1));
  ASSERT_OK(machine_.write(b, 1));
  ASSERT_OK(machine_.touch({a, b}));
  ASSERT_NE(in_host(b), 0_B);
  ASSERT_OK(machine_.settle());
  tessera::Run* const ended = in_host(a) > in_host(b) ? b : a;
  tessera::Run* const other = ended == a ? b : a;
  ASSERT_OK(machine_.residency().runs().remove(ended));
  for (std::uint32_t i = 0; i < 2 * tessera::PartialRuns::kQuietPoints; ++i) wait();
  EXPECT_EQ(in_host(other), 0_B);
  ASSERT_OK(machine_.check(other, 1));
  expect_right();
}

TEST_F(PartialRuns, WhatAFreedBlockUsedInHostMemoryIsFreeForOthers) {
  tessera::Run* const run = machine_.add({0, 12});
  ASSERT_OK(machine_.write(run, 1));
  run->live.store(0);
  ASSERT_OK(machine_.settle());
  for (std::uint32_t i = 0; i < 2 * tessera::PartialRuns::kQuietPoints; ++i) wait();
  EXPECT_EQ(in_host(run), 0_B);
  EXPECT_EQ(machine_.tiers().zero_copy->usage().used, 0_B);
  expect_right();
}

TEST_F(PartialRuns, TheNextBlockInARunIsOnTheDeviceAgain) {
  tessera::Run* const a = machine_.add({0, 6});
  tessera::Run* const b = machine_.add({0, 6});
  ASSERT_OK(machine_.touch({a, b}, Access::kWrite));
  tessera::Run* const partial = in_host(a) > in_host(b) ? a : b;
  ASSERT_OK(machine_.residency().ensure(partial, StreamId(0), Contents::kUndefined));
  EXPECT_EQ(in_host(partial), 0_B);
  ASSERT_OK(machine_.write(partial, 2));
  ASSERT_OK(machine_.check(partial, 2));
  EXPECT_EQ(in_host(partial), 0_B);
  expect_right();
}

TEST_F(PartialRuns, ADriverThatRefusesLosesNothing) {
  for (const DriverCall call :
       {DriverCall::kMap, DriverCall::kSetAccess, DriverCall::kUnmap, DriverCall::kCopy, DriverCall::kCopyIn}) {
    for (std::uint64_t nth = 1; nth <= 12; ++nth) {
      ResidencyMachine machine({.device = 16_MiB, .host = 64_MiB, .zero_copy = true});
      tessera::Run* const a = machine.add({0, 6});
      tessera::Run* const b = machine.add({0, 6});
      ASSERT_OK(machine.write(a, 1));
      ASSERT_OK(machine.write(b, 1));
      ASSERT_OK(machine.settle());
      machine.fault().fail({call, nth, Status(Code::kDriver, "injected", 999)});
      const Status first = machine.touch({a, b});
      machine.fault().clear();
      EXPECT_EQ(machine.valid(), "ok") << static_cast<int>(call) << " " << nth << " " << first.to_string();
      ASSERT_OK(machine.touch({a, b}));
      ASSERT_OK(machine.check(a, 1));
      ASSERT_OK(machine.check(b, 1));
    }
  }
}

// The host budget shrinks by what it lends for pages at their own addresses, and these hold bytes of the heap.
TEST_F(PartialRuns, TheHeapIsAsLargeAsBefore) {
  tessera::Run* const run = machine_.add({0, 12});
  ASSERT_OK(machine_.write(run, 1));
  ASSERT_EQ(in_host(run), 10_MiB);
  const Bytes left = 16_MiB + 64_MiB - run->shape.bytes();
  const RunShape shape{.large = 0, .base = static_cast<std::uint32_t>(left / kBasePage)};
  EXPECT_OK(machine_.residency().runs().add(machine_.reserve(shape), shape, TagId()).status());
  const RunShape one{0, 1};
  EXPECT_EQ(machine_.residency().runs().add(machine_.reserve(one), one, TagId()).status().code(), Code::kOutOfMemory);
  expect_right();
}

}  // namespace
}  // namespace tessera
