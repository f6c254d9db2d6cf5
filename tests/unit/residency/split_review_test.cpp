// Which part of a partial block is on the device.
#include "residency/eviction/split_review.hpp"

#include <thread>

#include "residency_fixture.hpp"

namespace tessera {
namespace {

// The device has eight base pages, one of which is kept for other blocks; the block has twelve, the last five of which
// are in host memory at first.
class SplitReviewTest : public testing::Test {
 protected:
  explicit SplitReviewTest(const ResidencySetup& setup = {.device = 16_MiB, .host = 64_MiB, .zero_copy = true})
      : machine_(setup), run_(machine_.add({0, 12})) {
    EXPECT_OK(machine_.write(run_, 1));
  }
  PageState state(std::uint32_t page) const { return run_->pages[page].state; }
  std::vector<bool> in_host() const {
    std::vector<bool> result;
    for (const Page& page : run_->pages) result.push_back(page.state == PageState::kZeroCopy);
    return result;
  }
  // Launches name that page, without an end, as often.
  void name(std::uint32_t page, std::uint32_t times) {
    for (std::uint32_t i = 0; i < times; ++i) machine_.residency().note_named(*run_, {kBasePage * page, 0_B});
  }
  void name_all(std::uint32_t first, std::uint32_t end, std::uint32_t times) {
    for (std::uint32_t page = first; page < end; ++page) name(page, times);
  }
  std::uint64_t fetches() const { return machine_.residency().figures().stats().fetches; }
  void expect_right(std::uint64_t generation) {
    ASSERT_OK(machine_.check(run_, generation));
    ASSERT_OK(machine_.settle());
    EXPECT_EQ(machine_.wrong(), 0U);
    EXPECT_EQ(machine_.valid(), "ok");
  }

  mutable ResidencyMachine machine_;
  tessera::Run* run_;
};

TEST_F(SplitReviewTest, WhatLaunchesNameMostComesToTheDevice) {
  ASSERT_EQ(run_->bytes_in(PageState::kZeroCopy), 10_MiB);
  ASSERT_EQ(state(11), PageState::kZeroCopy);
  ASSERT_TRUE(machine_.residency().watches_names());
  name_all(0, 12, 1);
  name(11, SplitReview::kLeastNames);
  ASSERT_TRUE(machine_.residency().is_review_due());
  expect_right(1);
  EXPECT_EQ(state(11), PageState::kResident);
  EXPECT_EQ(run_->bytes_in(PageState::kZeroCopy), 10_MiB) << "another page in its place";
  EXPECT_FALSE(machine_.residency().is_review_due());
  EXPECT_EQ(run_->missing.load(), 0U);
  ASSERT_OK(machine_.write(run_, 2));
  expect_right(2);
}

TEST_F(SplitReviewTest, ABlockThatIsReadInACircleStaysAsItIs) {
  const std::vector<bool> before = in_host();
  for (int turn = 0; turn < 200; ++turn) {
    for (std::uint32_t page = 0; page < 12; ++page) {
      name(page, page % 2 == 0 ? 1 : 2);
      ASSERT_OK(machine_.touch({run_}));
      ASSERT_EQ(in_host(), before) << turn;
    }
  }
  EXPECT_EQ(fetches(), 0U);
  expect_right(1);
}

TEST_F(SplitReviewTest, AReviewThatFindsNothingComesLaterTheNextTime) {
  name_all(0, 12, SplitReview::kLeastNames / 12 + 1);
  ASSERT_TRUE(machine_.residency().is_review_due());
  ASSERT_OK(machine_.touch({run_}));
  name_all(0, 12, SplitReview::kLeastNames / 12 + 1);
  EXPECT_FALSE(machine_.residency().is_review_due());
  name_all(0, 12, SplitReview::kLeastNames / 12 + 1);
  EXPECT_TRUE(machine_.residency().is_review_due());
}

// The two halves of the block take turns.
TEST_F(SplitReviewTest, ChangingHabitsMovePagesLessAndLess) {
  std::uint64_t before = fetches(), early = 0, late = 0;
  for (int phase = 0; phase < 24; ++phase) {
    for (std::uint32_t i = 0; i < 1000; ++i) {
      name_all(phase % 2 == 0 ? 6 : 0, phase % 2 == 0 ? 12 : 6, 8);
      ASSERT_OK(machine_.touch({run_}));
    }
    (phase < 4 ? early : late) += phase < 4 || phase >= 20 ? fetches() - before : 0;
    before = fetches();
  }
  EXPECT_EQ(early, 4 * 5U) << "five pages of the half that is used, each time";
  EXPECT_EQ(late, 0U);
  expect_right(1);
}

TEST_F(SplitReviewTest, NothingMovesWhileACallUsesItWhereItIs) {
  const std::vector<bool> before = in_host();
  Use use;
  ASSERT_OK(machine_.residency().begin_use({&run_, 1}, kNoStream, Access::kRead, Use::Kind::kHold, use));
  name(11, 2 * SplitReview::kLeastNames);
  ASSERT_OK(machine_.touch({run_}));
  EXPECT_EQ(in_host(), before);
  machine_.residency().end_use({&run_, 1}, kNoStream, use);
  name(11, 2 * SplitReview::kMostNames);
  expect_right(1);
  EXPECT_EQ(state(11), PageState::kResident);
}

TEST_F(SplitReviewTest, APinnedBlockIsWholeAndNotLookedAt) {
  ResidencyMachine machine({.device = 16_MiB, .host = 64_MiB, .zero_copy = true});
  tessera::Run* const a = machine.add({0, 6});
  tessera::Run* const b = machine.add({0, 6});
  ASSERT_OK(machine.touch({a, b}, Access::kWrite));
  tessera::Run* const partial = a->has(PageState::kZeroCopy) ? a : b;
  ASSERT_OK(machine.residency().pins().pin(partial));
  for (std::uint32_t i = 0; i < SplitReview::kLeastNames; ++i) machine.residency().note_named(*partial, {0_B, 0_B});
  ASSERT_OK(machine.touch({partial}));
  EXPECT_FALSE(partial->has(PageState::kZeroCopy));
  ASSERT_OK(machine.residency().pins().unpin(partial));
  EXPECT_EQ(machine.valid(), "ok");
}

TEST_F(SplitReviewTest, WithoutPartialBlocksNothingIsCounted) {
  ResidencyMachine machine({.device = 16_MiB, .host = 64_MiB, .zero_copy = true});
  tessera::Run* const run = machine.add({0, 2});
  ASSERT_OK(machine.write(run, 1));
  EXPECT_FALSE(machine.residency().watches_names());
  EXPECT_EQ(run->starts.load(), nullptr);
  machine.residency().note_named(*run, {0_B, 0_B});
}

// The run ends partial, and another block begins in it.
TEST_F(SplitReviewTest, WhatWasCountedOfABlockSaysNothingOfTheNext) {
  name(11, SplitReview::kLeastNames - 1);
  ASSERT_OK(machine_.residency().ensure(run_, StreamId(0), Contents::kUndefined));
  ASSERT_OK(machine_.write(run_, 2));
  ASSERT_EQ(state(11), PageState::kZeroCopy);
  name_all(0, 12, SplitReview::kLeastNames / 12 + 1);
  ASSERT_TRUE(machine_.residency().is_review_due());
  expect_right(2);
  EXPECT_EQ(state(11), PageState::kZeroCopy);
}

// Each thread has a block, of which it names one end for a while and then the other.
TEST(SplitReviewOfSeveralThreads, LaunchesFindTheirBytesWhilePagesAreExchanged) {
  ResidencyMachine machine({.device = 16_MiB, .host = 64_MiB, .zero_copy = true});
  const auto blocks = machine.add_many(2, {0, 6});
  for (tessera::Run* const block : blocks) ASSERT_OK(machine.write(block, 1));
  ASSERT_OK(machine.touch(blocks));
  std::vector<std::thread> threads;
  for (tessera::Run* const block : blocks) {
    const StreamId stream = machine.stream();
    threads.emplace_back([&machine, block, stream] {
      for (std::uint32_t i = 0; i < 600; ++i) {
        const Bytes at = kBasePage * (i < 300 ? 5 : 0);
        for (int times = 0; times < 8; ++times) machine.residency().note_named(*block, {at, 0_B});
        EXPECT_OK(machine.check(block, 1, stream));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_OK(machine.settle());
  EXPECT_EQ(machine.wrong(), 0U);
  EXPECT_EQ(machine.valid(), "ok");
  EXPECT_GT(machine.residency().figures().stats().exchanges, 0U);
}

// Host memory is full: room in host memory has to be made first, or nothing moves.
TEST(SplitReviewWithLittleHostMemory, PagesAreExchangedIfOthersCanBeSpilled) {
  for (const Bytes file : {0_B, 64_MiB}) {
    ResidencyMachine machine({.device = 16_MiB, .host = 12_MiB, .file = file, .zero_copy = true});
    tessera::Run* const run = machine.add({0, 11});
    ASSERT_OK(machine.write(run, 1));
    const auto others = machine.add_many(2);
    for (tessera::Run* const other : others) {
      ASSERT_OK(machine.write(other, 1));
      ASSERT_OK(machine.evict(other));
    }
    ASSERT_EQ(run->bytes_in(PageState::kZeroCopy), 8_MiB);
    for (std::uint32_t i = 0; i < SplitReview::kLeastNames; ++i) {
      machine.residency().note_named(*run, {kBasePage * 10, 0_B});
    }
    ASSERT_OK(machine.check(run, 1));
    EXPECT_EQ(run->pages[10].state == PageState::kResident, file > 0_B);
    for (tessera::Run* const other : others) ASSERT_OK(machine.check(other, 1));
    ASSERT_OK(machine.check(run, 1));
    ASSERT_OK(machine.settle());
    EXPECT_EQ(machine.wrong(), 0U);
    EXPECT_EQ(machine.valid(), "ok");
  }
}

TEST(SplitReviewOfADriverThatRefuses, LosesNothing) {
  for (const DriverCall call :
       {DriverCall::kMap, DriverCall::kSetAccess, DriverCall::kUnmap, DriverCall::kCopy, DriverCall::kCreateFrame}) {
    for (std::uint64_t nth = 1; nth <= 6; ++nth) {
      ResidencyMachine machine({.device = 16_MiB, .host = 64_MiB, .zero_copy = true});
      tessera::Run* const run = machine.add({0, 12});
      ASSERT_OK(machine.write(run, 1));
      ASSERT_OK(machine.settle());
      for (std::uint32_t i = 0; i < SplitReview::kLeastNames; ++i) {
        machine.residency().note_named(*run, {kBasePage * (10 + i % 2), 0_B});
      }
      ASSERT_TRUE(machine.residency().is_review_due());
      machine.fault().fail({call, nth, Status(Code::kDriver, "injected", 999)});
      const Status first = machine.touch({run});
      machine.fault().clear();
      EXPECT_EQ(machine.valid(), "ok") << static_cast<int>(call) << " " << nth << " " << first.to_string();
      ASSERT_OK(machine.check(run, 1));
    }
  }
}

}  // namespace
}  // namespace tessera
