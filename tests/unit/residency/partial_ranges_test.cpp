// Ranges of runs that the program maps, larger than the device: part of them is used in host memory.
#include "residency_fixture.hpp"

namespace tessera {
namespace {

using PartRun = tessera::Run;

// The device has eight base pages, one of which is kept for others; runs have two.
class PartialRanges : public testing::Test {
 protected:
  explicit PartialRanges(const ResidencySetup& setup = {.device = 16_MiB, .host = 64_MiB, .zero_copy = true})
      : machine_(setup) {
    at_ = machine_.reserve({2, 0});
    range_ = machine_.residency().ranges().add(at_, TagId());
  }

  PartRun* map(Bytes offset) {
    PartRun* const run = machine_.add({0, 2});
    move_to(run, offset);
    return run;
  }
  void move_to(PartRun* run, Bytes offset) { ASSERT_OK(machine_.residency().runs().rehome(run, at_ + offset, range_)); }
  void unmap(PartRun* run) {
    ASSERT_OK(machine_.residency().runs().rehome(run, machine_.reserve(run->shape), nullptr));
  }
  // Runs with their contents, each at that many MiB in the range, of which part is used in host memory.
  std::vector<PartRun*> partial_at(std::initializer_list<std::uint64_t> offsets) {
    std::vector<PartRun*> runs;
    for (const std::uint64_t offset : offsets) {
      runs.push_back(map(1_MiB * offset));
      EXPECT_OK(machine_.write(runs.back(), 1));
    }
    EXPECT_OK(machine_.touch({range_}));
    return runs;
  }
  void name(Bytes offset, std::uint32_t times) {
    for (std::uint32_t i = 0; i < times; ++i) machine_.residency().note_named(*range_, {offset, 0_B});
  }
  Bytes in_host() const { return range_->bytes_in(PageState::kZeroCopy); }
  static PageState last_of(const PartRun* run) { return run->pages.back().state; }
  // The bytes that were written when the run was at `before` are there.
  void expect_bytes(PartRun* run, Address before) {
    ASSERT_OK(machine_.check(run, before.value() + 1 - run->address.value()));
  }
  void expect_right() {
    ASSERT_OK(machine_.settle());
    EXPECT_EQ(machine_.wrong(), 0U);
    EXPECT_EQ(machine_.valid(), "ok");
  }

  mutable ResidencyMachine machine_;
  Address at_;
  PartRun* range_ = nullptr;
};

// With a gap: addresses count from the start of the reservation.
TEST_F(PartialRanges, WhatLaunchesNameMostComesToTheDevice) {
  const auto runs = partial_at({0, 4, 8, 24, 28, 32});
  ASSERT_EQ(in_host(), 10_MiB);
  ASSERT_EQ(range_->missing.load(), 0U);
  ASSERT_EQ(last_of(runs[5]), PageState::kZeroCopy);
  ASSERT_TRUE(machine_.residency().watches_names());
  for (std::uint64_t page = 0; page < 18; ++page) name(kBasePage * page, 1);
  name(34_MiB, SplitReview::kLeastNames);
  ASSERT_TRUE(machine_.residency().is_review_due());
  ASSERT_OK(machine_.touch({range_}));
  EXPECT_EQ(last_of(runs[5]), PageState::kResident);
  EXPECT_EQ(in_host(), 10_MiB) << "another page in its place";
  EXPECT_EQ(machine_.residency().figures().stats().exchanges, 1U);
  for (PartRun* const run : runs) ASSERT_OK(machine_.check(run, 1));
  expect_right();
}

// All runs leave, and come back in the other order.
TEST_F(PartialRanges, WhatWasCountedEndsWithTheLastRunThere) {
  const auto runs = partial_at({0, 4, 8, 12, 16, 20});
  ASSERT_EQ(last_of(runs[5]), PageState::kZeroCopy);
  for (std::uint64_t page = 0; page < 12; ++page) name(kBasePage * page, 1);
  name(2_MiB, SplitReview::kLeastNames - 13);
  ASSERT_FALSE(machine_.residency().is_review_due());
  for (PartRun* const run : runs) unmap(run);
  for (std::size_t i = 0; i < runs.size(); ++i) move_to(runs[i], 20_MiB - 4_MiB * i);
  ASSERT_OK(machine_.touch({range_}));
  ASSERT_EQ(last_of(runs[5]), PageState::kZeroCopy) << "at 2 MiB now";
  name(0_B, 1);
  ASSERT_TRUE(machine_.residency().is_review_due());
  ASSERT_OK(machine_.touch({range_}));
  EXPECT_EQ(last_of(runs[5]), PageState::kZeroCopy);
  EXPECT_EQ(machine_.residency().figures().stats().exchanges, 0U);
  for (std::size_t i = 0; i < runs.size(); ++i) expect_bytes(runs[i], at_ + 4_MiB * i);
  expect_right();
}

// ---- runs that leave the range, and others that come, while some of their pages are used in host memory

TEST_F(PartialRanges, ARunThatLeavesTakesItsBytesAlong) {
  const auto runs = partial_at({0, 4, 8, 12, 16, 20});
  const Bytes before = in_host();
  for (PartRun* const run : runs) {
    const Address at = run->address;
    const Bytes own = run->bytes_in(PageState::kZeroCopy);
    unmap(run);
    EXPECT_EQ(run->bytes_in(PageState::kZeroCopy), own) << "nothing is copied";
    EXPECT_EQ(machine_.valid(), "ok");
    expect_bytes(run, at);
    ASSERT_OK(machine_.touch({range_}));
  }
  EXPECT_EQ(before, 10_MiB);
  EXPECT_EQ(in_host(), 0_B);
  EXPECT_EQ(range_->shape.bytes(), 0_B);
  expect_right();
}

TEST_F(PartialRanges, ARunThatIsMappedElsewhereHasItsBytesThere) {
  const auto runs = partial_at({0, 4, 8, 12, 16, 20});
  PartRun* const other = machine_.residency().ranges().add(machine_.reserve({2, 0}), TagId());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Address at = runs[i]->address;
    if (i % 2 == 0) {
      move_to(runs[i], 48_MiB - 4_MiB * i);
    } else {
      ASSERT_OK(machine_.residency().runs().rehome(runs[i], other->address + 4_MiB * i, other));
    }
    EXPECT_EQ(machine_.valid(), "ok");
    expect_bytes(runs[i], at);
  }
  EXPECT_EQ(in_host() + other->bytes_in(PageState::kZeroCopy), 10_MiB);
  ASSERT_OK(machine_.touch({range_, other}));
  expect_right();
}

TEST_F(PartialRanges, ARunThatEndsGivesItsHostMemoryBack) {
  const auto runs = partial_at({0, 4, 8, 12, 16, 20});
  ASSERT_EQ(machine_.tiers().zero_copy->usage().used, 10_MiB);
  for (PartRun* const run : runs) {
    const Bytes own = run->bytes_in(PageState::kZeroCopy), before = machine_.tiers().zero_copy->usage().used;
    ASSERT_OK(machine_.residency().runs().remove(run));
    EXPECT_EQ(machine_.tiers().zero_copy->usage().used, before - own);
    EXPECT_EQ(machine_.valid(), "ok");
    ASSERT_OK(machine_.touch({range_}));
  }
  EXPECT_EQ(machine_.tiers().zero_copy->usage().used, 0_B);
  machine_.residency().ranges().remove(range_);
}

TEST_F(PartialRanges, ARunLeavesWhileACallUsesTheRangeWhereItIs) {
  const auto runs = partial_at({0, 4, 8, 12, 16, 20});
  Use use;
  ASSERT_OK(machine_.residency().begin_use({&range_, 1}, kNoStream, Access::kRead, Use::Kind::kHold, use));
  ASSERT_EQ(last_of(runs[5]), PageState::kZeroCopy);
  const Address at = runs[5]->address;
  unmap(runs[5]);
  ASSERT_OK(machine_.residency().runs().remove(runs[0]));
  machine_.residency().end_use({&range_, 1}, kNoStream, use);
  expect_bytes(runs[5], at);
  expect_right();
}

TEST_F(PartialRanges, APinnedRunIsWhole) {
  const auto runs = partial_at({0, 4, 8, 12, 16, 20});
  ASSERT_TRUE(runs[5]->has(PageState::kZeroCopy));
  ASSERT_OK(machine_.residency().pins().pin(runs[5]));
  EXPECT_FALSE(runs[5]->has(PageState::kZeroCopy));
  ASSERT_OK(machine_.touch({range_}));
  EXPECT_EQ(range_->missing.load(), 0U) << "others took its place in host memory";
  EXPECT_FALSE(runs[5]->has(PageState::kZeroCopy));
  EXPECT_EQ(machine_.residency().pins().pin(range_).code(), Code::kOutOfMemory);
  for (PartRun* const run : runs) ASSERT_OK(machine_.check(run, 1));
  ASSERT_OK(machine_.residency().pins().unpin(runs[5]));
  expect_right();
}

// What is kept beside a range takes several runs before a launch waits for room again.
TEST(PartialRangesThatGrow, ALaunchWaitsForRoomOnceInAFewMaps) {
  ResidencyMachine machine({.device = 256_MiB, .host = 512_MiB, .zero_copy = true, .sim = {.memory = 256_MiB}});
  const Address at = machine.reserve({16, 0});
  PartRun* const range = machine.residency().ranges().add(at, TagId());
  std::vector<PartRun*> runs;
  int waits = 0, whole_steps = 0;
  for (std::uint64_t i = 0; i < 160; ++i) {
    runs.push_back(machine.add({0, 1}));
    ASSERT_OK(machine.residency().runs().rehome(runs.back(), at + kBasePage * i, range));
    ASSERT_OK(machine.residency().ensure(runs.back(), kNoStream));
    ASSERT_OK(machine.write(runs.back(), 1));
    const Bytes before = range->bytes_in(PageState::kZeroCopy);
    ASSERT_OK(machine.touch({range}));
    const Bytes more = range->bytes_in(PageState::kZeroCopy) - before;
    waits += more > 0_B ? 1 : 0;
    whole_steps += more == 6_MiB ? 1 : 0;
    ASSERT_EQ(range->missing.load(), 0U);
  }
  EXPECT_EQ(waits, 11) << "32 runs more than the device has, of which two fit into what is kept";
  EXPECT_EQ(whole_steps, 11);
  for (PartRun* const run : runs) ASSERT_OK(machine.check(run, 1));
  ASSERT_OK(machine.settle());
  EXPECT_EQ(machine.wrong(), 0U);
  EXPECT_EQ(machine.valid(), "ok");
}

TEST(PartialRangesOfADriverThatRefuses, LoseNothing) {
  for (const DriverCall call : {DriverCall::kMap, DriverCall::kSetAccess, DriverCall::kUnmap}) {
    for (std::uint64_t nth = 1; nth <= 4; ++nth) {
      ResidencyMachine machine({.device = 16_MiB, .host = 64_MiB, .zero_copy = true});
      const Address at = machine.reserve({2, 0});
      PartRun* const range = machine.residency().ranges().add(at, TagId());
      std::vector<PartRun*> runs;
      for (std::uint64_t i = 0; i < 3; ++i) {
        runs.push_back(machine.add({0, 4}));
        ASSERT_OK(machine.residency().runs().rehome(runs.back(), at + 8_MiB * i, range));
        ASSERT_OK(machine.write(runs.back(), 1));
      }
      ASSERT_OK(machine.touch({range}));
      ASSERT_OK(machine.settle());
      PartRun* const mixed = *std::ranges::find_if(
          runs, [](const PartRun* run) { return run->has(PageState::kZeroCopy) && run->has(PageState::kResident); });
      const Address before = mixed->address;
      machine.fault().fail({call, nth, Status(Code::kDriver, "injected", 999)});
      const Status left = machine.residency().runs().rehome(mixed, machine.reserve(mixed->shape), nullptr);
      machine.fault().clear();
      EXPECT_EQ(machine.valid(), "ok") << static_cast<int>(call) << " " << nth << " " << left.to_string();
      EXPECT_EQ(mixed->row, left.is_ok() ? nullptr : range);
      const Status checked = machine.check(mixed, before.value() + 1 - mixed->address.value());
      // A host frame that cannot be mapped again is lost, and said to be.
      const bool is_lost = call != DriverCall::kUnmap && checked.code() == Code::kDataLoss;
      EXPECT_TRUE(checked.is_ok() || is_lost) << checked.to_string();
      ASSERT_OK(machine.settle());
      EXPECT_EQ(machine.wrong(), 0U);
    }
  }
}

}  // namespace
}  // namespace tessera
