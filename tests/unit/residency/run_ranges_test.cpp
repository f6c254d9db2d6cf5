// Ranges: runs mapped side by side are used as one, and where they do not fit, a launch gets the nearest.
#include "residency_fixture.hpp"

namespace tessera {
namespace {

using AnyRun = tessera::Run;
using Share = RunRanges::Share;

class Ranges : public ::testing::Test {
 protected:
  explicit Ranges(const ResidencySetup& setup = {.device = 16_MiB, .host = 64_MiB}) : machine_(setup) {
    at_ = machine_.reserve({2, 0});
    range_ = machine_.residency().ranges().add(at_, TagId());
  }

  // A run of two pages at this offset in the range.
  AnyRun* map(Bytes offset) {
    AnyRun* const run = machine_.add({0, 2});
    EXPECT_OK(machine_.residency().runs().rehome(run, at_ + offset, range_));
    return run;
  }
  void unmap(AnyRun* run) { EXPECT_OK(machine_.residency().runs().rehome(run, machine_.reserve(run->shape), nullptr)); }
  Status use_all(Access access = Access::kRead) { return machine_.touch({range_}, access); }
  std::vector<AnyRun*> nearest(std::vector<AnyRun*> named) {
    return machine_.residency().ranges().with_nearest(named, named);
  }

  ResidencyMachine machine_;
  Address at_;
  AnyRun* range_ = nullptr;
};

TEST_F(Ranges, AUseOfTheRangeFetchesWhatIsMapped) {
  AnyRun* const one = map(0_B);
  AnyRun* const two = map(8_MiB);
  EXPECT_EQ(range_->missing.load(), 4U);
  EXPECT_EQ(range_->shape.bytes(), 8_MiB);
  ASSERT_OK(machine_.write(one, 1));
  ASSERT_OK(machine_.write(two, 2));
  ASSERT_OK(machine_.evict(one));
  EXPECT_EQ(range_->missing.load(), 2U);
  ASSERT_OK(use_all());
  ASSERT_OK(machine_.settle());
  EXPECT_EQ(range_->missing.load(), 0U);
  EXPECT_EQ(one->missing.load(), 0U);
  EXPECT_OK(machine_.check(one, 1));
  EXPECT_OK(machine_.check(two, 2));
  EXPECT_OK(machine_.settle());
}

TEST_F(Ranges, RunsComeAndGo) {
  AnyRun* const one = map(0_B);
  AnyRun* const two = map(4_MiB);
  EXPECT_EQ(range_->parts, (std::vector{one, two}));
  ASSERT_OK(machine_.write(two, 2));
  const Address before = two->address;
  unmap(two);
  EXPECT_EQ(two->row, nullptr);
  EXPECT_EQ(range_->parts, std::vector{one});
  EXPECT_EQ(range_->shape.bytes(), 4_MiB);
  EXPECT_EQ(machine_.valid(), "ok");
  EXPECT_OK(machine_.residency().runs().rehome(two, at_ + 20_MiB, range_));
  EXPECT_EQ(range_->parts, (std::vector{one, two}));
  EXPECT_OK(machine_.check(two, before.value() + 2 - two->address.value()));
  EXPECT_OK(machine_.residency().runs().remove(one));
  EXPECT_EQ(range_->parts, std::vector{two});
  EXPECT_EQ(machine_.valid(), "ok");
  EXPECT_OK(machine_.residency().runs().remove(two));
  EXPECT_TRUE(range_->is_dead());
  machine_.residency().ranges().remove(range_);
}

// A word of a launch may look like an address in addresses that the program frees meanwhile.
TEST_F(Ranges, ACallMayHoldOneThatEnds) {
  AnyRun* const one = map(0_B);
  Use use;
  ASSERT_OK(machine_.residency().begin_use({&range_, 1}, StreamId(), Access::kRead, Use::Kind::kHold, use));
  unmap(one);
  machine_.residency().ranges().remove(range_);
  EXPECT_EQ(range_->holds.load(), 1U);
  machine_.residency().end_use({&range_, 1}, StreamId(), use);
  EXPECT_EQ(range_->holds.load(), 0U);
  AnyRun* const next = machine_.residency().ranges().add(at_, TagId());
  machine_.residency().ranges().remove(next);
  EXPECT_EQ(machine_.valid(), "ok");
  EXPECT_OK(machine_.residency().runs().remove(one));
}

// A launch that writes the range stamps the range alone: copies of its runs from before are not valid any more.
TEST_F(Ranges, WhatTheRangeHasWrittenIsKeptWhenARunLeaves) {
  AnyRun* const one = map(0_B);
  ASSERT_OK(machine_.write(one, 1));
  ASSERT_OK(machine_.evict(one));
  ASSERT_OK(use_all());
  Use use;
  ASSERT_OK(machine_.residency().begin_use({&range_, 1}, StreamId(0), Access::kWrite, Use::Kind::kGate, use));
  ASSERT_OK(machine_.launch(one, 2, StreamId(0), Access::kWrite));
  machine_.residency().end_use({&range_, 1}, StreamId(0), use);
  const Address before = one->address;
  unmap(one);
  ASSERT_OK(machine_.evict(one));
  EXPECT_OK(machine_.check(one, before.value() + 2 - one->address.value()));
  EXPECT_OK(machine_.settle());
}

TEST_F(Ranges, ARunLeavesWhileTheRangeIsHeld) {
  AnyRun* const one = map(0_B);
  AnyRun* const two = map(4_MiB);
  Use use;
  ASSERT_OK(machine_.residency().begin_use({&range_, 1}, kNoStream, Access::kRead, Use::Kind::kHold, use));
  EXPECT_EQ(machine_.evict(two).code(), Code::kBusy);
  unmap(one);
  EXPECT_OK(machine_.residency().runs().remove(one));
  machine_.residency().end_use({&range_, 1}, kNoStream, use);
  EXPECT_OK(machine_.evict(two));
  EXPECT_EQ(machine_.valid(), "ok");
}

TEST_F(Ranges, APinnedRangePinsWhatIsMappedThere) {
  AnyRun* const one = map(0_B);
  ASSERT_OK(machine_.residency().pins().pin(range_, "an address that is stored"));
  AnyRun* const two = map(4_MiB);
  ASSERT_OK(machine_.touch({two}));
  EXPECT_EQ(machine_.residency().figures().pinned_bytes(), 8_MiB);
  EXPECT_EQ(machine_.evict(two).code(), Code::kBusy);
  EXPECT_EQ(machine_.residency().figures().exposures().front().second, 8_MiB);
  unmap(one);
  EXPECT_EQ(machine_.residency().figures().pinned_bytes(), 4_MiB);
  unmap(two);
  EXPECT_EQ(range_->pins.load(), 0U) << "a pin ends when nothing is mapped";
  EXPECT_EQ(machine_.valid(), "ok");
}

TEST_F(Ranges, WhereNotAllFitsTheNearestAboveComeFirst) {
  std::vector<AnyRun*> runs;
  for (std::uint64_t i = 0; i < 10; ++i) runs.push_back(map(4_MiB * i));  // 40 of 16 MiB
  EXPECT_FALSE(machine_.residency().ranges().fits({&range_, 1}));
  EXPECT_EQ(use_all().code(), Code::kOutOfMemory);
  EXPECT_EQ(nearest({runs[2]}), (std::vector{runs[2], runs[3], runs[4], runs[5]}));
  EXPECT_EQ(nearest({runs[2], runs[6]}), (std::vector{runs[2], runs[6], runs[3], runs[7]}));
  EXPECT_EQ(nearest({runs[3], runs[4]}), (std::vector{runs[3], runs[4], runs[5], runs[6]}));
  EXPECT_EQ(nearest({runs[8]}), (std::vector{runs[8], runs[9], runs[7], runs[6]}));
  ASSERT_OK(machine_.touch(nearest({runs[8]})));
  EXPECT_EQ(&runs[8]->learned(), runs[8]) << "by its runs from now on";
  EXPECT_EQ(machine_.valid(), "ok");
}

TEST_F(Ranges, WhereAllFitsTheNearestAreAll) {
  AnyRun* const one = map(0_B);
  AnyRun* const two = map(4_MiB);
  EXPECT_TRUE(machine_.residency().ranges().fits({&range_, 1}));
  EXPECT_EQ(nearest({two}), (std::vector{two, one}));
  EXPECT_EQ(machine_.residency().ranges().bytes_of(std::vector{range_, range_}), 8_MiB);
  EXPECT_EQ(machine_.residency().ranges().parts_of(*range_), (std::vector{one, two}));
}

TEST_F(Ranges, WhereTheDriverRefusesARunStaysInItsRange) {
  AnyRun* const one = map(0_B);
  ASSERT_OK(machine_.write(one, 1));
  ASSERT_OK(machine_.settle());
  ASSERT_OK(machine_.residency().pins().pin(range_));
  machine_.fault().fail({DriverCall::kUnmap, 1, Status(Code::kDriver, "injected", 999), false});
  EXPECT_EQ(machine_.residency().runs().rehome(one, machine_.reserve(one->shape), nullptr).code(), Code::kDriver);
  EXPECT_EQ(one->row, range_);
  EXPECT_EQ(machine_.residency().figures().pinned_bytes(), 4_MiB);
  EXPECT_EQ(machine_.valid(), "ok");
  EXPECT_OK(machine_.check(one, 1));
  EXPECT_OK(machine_.settle());
}

TEST_F(Ranges, WithoutHostFramesAUseThatDoesNotFitGetsTheNearest) {
  AnyRun* const one = map(0_B);
  EXPECT_EQ(machine_.residency().ranges().share_of({&range_, 1}), Share::kFits);
  for (std::uint64_t i = 1; i < 5; ++i) map(4_MiB * i);
  EXPECT_EQ(machine_.residency().ranges().share_of({&range_, 1}), Share::kNearest);
  EXPECT_EQ(machine_.residency().ranges().share_of({&one, 1}), Share::kFits);
}

// Host memory has room for 24 MiB.
class RangesWithHostFrames : public Ranges {
 protected:
  RangesWithHostFrames() : Ranges({.device = 16_MiB, .host = 24_MiB, .file = 64_MiB, .zero_copy = true}) {}
  RunRanges::Share share() { return machine_.residency().ranges().share_of({&range_, 1}); }
};
TEST_F(RangesWithHostFrames, AUseThatDoesNotFitGetsAllOfIt) {
  for (std::uint64_t i = 0; i < 6; ++i) map(4_MiB * i);
  EXPECT_FALSE(machine_.residency().ranges().fits({&range_, 1}));
  EXPECT_EQ(share(), Share::kPartial);
  ASSERT_OK(use_all());
  EXPECT_EQ(range_->missing.load(), 0U);
  EXPECT_EQ(share(), Share::kFits);
  EXPECT_FALSE(machine_.residency().ranges().fits({&range_, 1})) << "not on the device";
}

TEST_F(RangesWithHostFrames, MoreThanTheDeviceAndHostMemoryIsNotTried) {
  for (std::uint64_t i = 0; i < 10; ++i) map(4_MiB * i);
  EXPECT_EQ(share(), Share::kPartial);
  map(40_MiB);
  EXPECT_EQ(share(), Share::kNearest);
}

TEST_F(RangesWithHostFrames, AfterRefusalsItIsTriedLessAndLess) {
  for (std::uint64_t i = 0; i < 6; ++i) map(4_MiB * i);
  RunRanges& ranges = machine_.residency().ranges();
  for (const int skips : {1, 2, 4, 8}) {
    ASSERT_EQ(share(), Share::kPartial);
    ranges.note_not_partial();
    for (int i = 0; i < skips; ++i) ASSERT_EQ(share(), Share::kNearest) << skips;
  }
  ASSERT_EQ(share(), Share::kPartial);
  ranges.note_partial({&range_, 1});
  ASSERT_EQ(share(), Share::kPartial);
  ranges.note_not_partial();
  EXPECT_EQ(share(), Share::kNearest);
  EXPECT_EQ(share(), Share::kPartial) << "as after the first";
}

TEST_F(RangesWithHostFrames, ItsUsesAreLearnedAsAWholeOnceItIsPartial) {
  AnyRun* const one = map(0_B);
  for (std::uint64_t i = 1; i < 6; ++i) map(4_MiB * i);
  nearest({one});
  ASSERT_EQ(&one->learned(), one);
  machine_.residency().ranges().note_partial({&range_, 1});
  EXPECT_EQ(&one->learned(), range_);
}

// Of six runs, 10 MiB are in host memory: those need no room among the nearest.
TEST_F(RangesWithHostFrames, WhatIsInHostMemoryIsNearWithoutRoom) {
  std::vector<AnyRun*> runs;
  for (std::uint64_t i = 0; i < 6; ++i) runs.push_back(map(4_MiB * i));
  ASSERT_OK(use_all());
  ASSERT_EQ(range_->bytes_in(PageState::kZeroCopy), 10_MiB);
  AnyRun* const more = map(24_MiB);
  ASSERT_OK(machine_.residency().pins().pin(more));
  EXPECT_EQ(nearest({more}), (std::vector{more, runs[5], runs[4], runs[3], runs[2], runs[1]}))
      << "beside what is pinned, 12 MiB of the other 14 have room";
  ASSERT_OK(machine_.residency().pins().unpin(more));
}

class BackedRanges : public Ranges {
 protected:
  BackedRanges() : Ranges({.device = 8_MiB, .backing = 64_MiB}) {}
};

TEST_F(BackedRanges, WithHostFramesBehindAddressesOnlyTheNamedRunsAreFetched) {
  AnyRun* const one = map(0_B);
  map(4_MiB);
  EXPECT_EQ(nearest({one}), std::vector{one});
}

}  // namespace
}  // namespace tessera
