#include "residency/streams/stream_table.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <list>
#include <set>
#include <thread>

#include "held_kernel.hpp"
#include "residency/streams/stream_waits.hpp"
#include "sim_machine.hpp"

namespace tessera {
namespace {

class Streams : public testing::Test {
 protected:
  ~Streams() override {
    let_go();
    waits_.reset();
    table_.reset();
    for (StreamId stream : streams_) EXPECT_TRUE(driver().destroy_stream(stream).is_ok());
    machine_.finish();
  }

  SimDriver& driver() { return machine_.driver(); }
  StreamId stream() { return streams_.emplace_back(driver().create_stream(DeviceId(0)).take()); }
  void destroy(StreamId stream) {
    EXPECT_TRUE(driver().destroy_stream(stream).is_ok());
    std::erase(streams_, stream);
  }
  // A use that lasts until let_go(); returns its bit.
  std::uint64_t held_use(StreamId stream, Epoch epoch) {
    const std::uint64_t bit = use(stream, epoch);
    EXPECT_TRUE(kernels_.emplace_back().launch(driver(), stream).is_ok());
    return bit;
  }
  std::uint64_t use(StreamId stream, Epoch epoch) {
    const std::uint32_t slot = table_->slot_of(stream);
    table_->note_use(slot, epoch);
    return std::uint64_t{1} << slot;
  }
  void let_go() {
    for (HeldKernel& kernel : kernels_) kernel.let_go();
    EXPECT_TRUE(driver().synchronize(DeviceId(0)).is_ok());
  }
  bool passed(std::uint64_t mask, Epoch epoch) {
    EXPECT_TRUE(table_->fence(mask, epoch).is_ok());
    EXPECT_TRUE(table_->poll().is_ok());
    return table_->passed(mask, epoch);
  }

  SimMachine machine_;
  std::list<HeldKernel> kernels_;
  std::vector<StreamId> streams_;
  std::unique_ptr<StreamTable> table_ = std::make_unique<StreamTable>(driver(), DeviceId(0));
  std::unique_ptr<StreamWaits> waits_ = std::make_unique<StreamWaits>(driver(), DeviceId(0), *table_);
};

TEST_F(Streams, AStreamKeepsItsSlot) {
  const StreamId first = stream(), second = stream();
  const std::uint32_t slot = table_->slot_of(first);
  EXPECT_NE(table_->slot_of(second), slot);
  EXPECT_EQ(table_->slot_of(first), slot);
}

TEST_F(Streams, WithoutUsesEveryWaitIsOver) {
  const std::uint64_t bit = std::uint64_t{1} << table_->slot_of(stream());
  EXPECT_TRUE(table_->passed(bit, Epoch(7)));
  EXPECT_TRUE(table_->passed(0, Epoch(7)));
  EXPECT_TRUE(waits_->wait(bit, Epoch(7)).is_ok());
}

TEST_F(Streams, AUseIsOverWhenTheFenceBehindItHasPassed) {
  const std::uint64_t bit = held_use(stream(), Epoch(1));
  EXPECT_FALSE(passed(bit, Epoch(1)));
  let_go();
  EXPECT_TRUE(passed(bit, Epoch(1)));
}

// Covers all streams, up to the newest use on any: work that the first one has queued since is behind the fence.
TEST_F(Streams, AFenceCoversAllWorkQueuedBeforeIt) {
  const StreamId one = stream();
  const std::uint64_t both = use(one, table_->tick()) | use(stream(), table_->tick());
  const Epoch until = table_->epoch();
  ASSERT_TRUE(table_->fence(both, until).is_ok());
  ASSERT_TRUE(driver().synchronize(DeviceId(0)).is_ok());
  held_use(one, table_->tick());
  ASSERT_TRUE(table_->poll().is_ok());
  EXPECT_TRUE(table_->passed(both, until));
}

TEST_F(Streams, ALaterUseDoesNotBringAnEarlierOneBack) {
  const StreamId one = stream();
  const std::uint64_t bit = use(one, Epoch(1));
  ASSERT_TRUE(driver().synchronize(one).is_ok());
  EXPECT_TRUE(passed(bit, Epoch(1)));
  held_use(one, Epoch(5));
  EXPECT_TRUE(table_->passed(bit, Epoch(1)));
  EXPECT_FALSE(passed(bit, Epoch(5)));
}

TEST_F(Streams, AllStreamsOfAMaskCount) {
  const std::uint64_t done = use(stream(), Epoch(1));
  const std::uint64_t held = held_use(stream(), Epoch(2));
  EXPECT_FALSE(passed(done | held, Epoch(2)));
  EXPECT_TRUE(passed(done, Epoch(2)));
}

TEST_F(Streams, WaitingEndsWithTheUse) {
  const std::uint64_t bit = held_use(stream(), Epoch(3));
  ASSERT_TRUE(table_->fence(bit, Epoch(3)).is_ok());
  std::thread helper([this] { kernels_.back().let_go(); });
  EXPECT_TRUE(waits_->wait(bit, Epoch(3)).is_ok());
  EXPECT_TRUE(table_->passed(bit, Epoch(3)));
  helper.join();
}

TEST_F(Streams, AllWorkIsWaitedForByFences) {
  const StreamId first = stream(), second = stream();
  held_use(first, Epoch(1));
  use(second, Epoch(2));
  let_go();
  EXPECT_TRUE(waits_->wait_for_all(Epoch(2)).is_ok());
  EXPECT_TRUE(table_->passed(~std::uint64_t{0}, Epoch(2)));
}

TEST_F(Streams, WorkOnAnUnknownStreamIsWaitedForWithTheDevice) {
  const StreamId unknown = stream();
  std::atomic<bool> ran{false};
  table_->note_use(table_->slot_of(kNoStream), table_->tick());
  ASSERT_TRUE(driver()
                  .host_function(unknown,
                                 [&] {
                                   std::this_thread::yield();
                                   ran.store(true);
                                 })
                  .is_ok());
  EXPECT_TRUE(waits_->wait_for_all(Epoch(1)).is_ok());
  EXPECT_TRUE(ran.load());
}

TEST_F(Streams, GraceEndsWithAFewLaunchesOnTheStream) {
  const std::uint32_t slot = table_->slot_of(stream()), other = table_->slot_of(stream());
  const std::uint64_t bit = std::uint64_t{1} << slot;
  const Epoch epoch = table_->tick();
  table_->note_use(slot, epoch);
  EXPECT_TRUE(table_->is_past_grace(bit, epoch, 0));
  for (std::uint32_t i = 0; i < StreamTable::kMostGrace; ++i) {
    EXPECT_TRUE(table_->is_past_grace(bit, epoch, i));
    EXPECT_FALSE(table_->is_past_grace(bit, epoch, i + 1));
    table_->note_use(other, table_->tick());
    EXPECT_FALSE(table_->is_past_grace(bit, epoch, i + 1)) << "a launch on another stream";
    table_->note_use(slot, table_->tick());
  }
  EXPECT_TRUE(table_->is_past_grace(bit, epoch, StreamTable::kMostGrace));
}

TEST_F(Streams, AStreamThatWasUsedBeforeTheLastUseHasNoPartInTheGrace) {
  const std::uint32_t slot = table_->slot_of(stream()), before = table_->slot_of(stream());
  table_->note_use(before, table_->tick());
  const std::uint64_t both = std::uint64_t{1} << slot | std::uint64_t{1} << before;
  const Epoch epoch = table_->tick();
  table_->note_use(slot, epoch);
  EXPECT_FALSE(table_->is_past_grace(both, epoch, 1));
  table_->note_use(slot, table_->tick());
  EXPECT_TRUE(table_->is_past_grace(both, epoch, 1));
}

TEST_F(Streams, GraceEndsWithManyLaunchesElsewhere) {
  const std::uint32_t slot = table_->slot_of(stream()), other = table_->slot_of(stream());
  const std::uint64_t bit = std::uint64_t{1} << slot;
  const Epoch epoch = table_->tick();
  table_->note_use(slot, epoch);
  constexpr std::uint32_t kGrace = 2;
  for (std::uint64_t i = 1; i < StreamTable::kGraceOfAll * kGrace; ++i) table_->note_use(other, table_->tick());
  EXPECT_FALSE(table_->is_past_grace(bit, epoch, kGrace));
  table_->note_use(other, table_->tick());
  EXPECT_TRUE(table_->is_past_grace(bit, epoch, kGrace)) << "the stream may have no more work";
}

TEST_F(Streams, AnotherStreamCanBeMadeToWait) {
  const StreamId waiter = stream();
  const EventId event = driver().create_event(DeviceId(0)).take();
  const std::uint64_t bit = held_use(stream(), Epoch(1));
  ASSERT_TRUE(table_->fence(bit, Epoch(1)).is_ok());
  ASSERT_TRUE(table_->make_wait(waiter, bit, Epoch(1)).is_ok());
  ASSERT_TRUE(driver().record_event(event, waiter).is_ok());
  EXPECT_EQ(driver().query(event).code(), Code::kNotReady);
  let_go();
  EXPECT_TRUE(driver().query(event).is_ok());
  EXPECT_TRUE(driver().destroy_event(event).is_ok());
}

TEST_F(Streams, MoreStreamsThanSlotsShareThemAndAnswerLater) {
  std::vector<StreamId> many;
  std::vector<std::uint32_t> slots;
  for (std::uint32_t i = 0; i < 3 * StreamTable::kSlots; ++i) {
    many.push_back(stream());
    slots.push_back(table_->slot_of(many.back()));
    ASSERT_LT(slots.back(), StreamTable::kSlots);
  }
  std::size_t partner = StreamTable::kSlots;
  while (slots[partner] != slots[5]) ++partner;
  const std::uint64_t bit = use(many[5], Epoch(1));
  EXPECT_EQ(held_use(many[partner], Epoch(2)), bit);
  EXPECT_FALSE(passed(bit, Epoch(2)));
  let_go();
  EXPECT_TRUE(passed(bit, Epoch(2)));
  for (std::size_t i = 0; i < many.size(); ++i) EXPECT_EQ(table_->slot_of(many[i]), slots[i]);
}

TEST_F(Streams, FencesOnABusyStreamAreBounded) {
  const StreamId one = stream();
  std::uint64_t bit = held_use(one, Epoch(1));
  for (std::uint64_t epoch = 2; epoch < 200; ++epoch) {
    use(one, Epoch(epoch));
    EXPECT_FALSE(passed(bit, Epoch(epoch)));
  }
  let_go();
  EXPECT_TRUE(passed(bit, Epoch(199)));
}

TEST_F(Streams, ARetiredStreamIsOverWhenItsWorkIs) {
  const StreamId one = stream();
  const std::uint64_t bit = held_use(one, Epoch(1));
  ASSERT_TRUE(table_->retire(one).is_ok());
  destroy(one);
  EXPECT_FALSE(passed(bit, Epoch(1)));
  let_go();
  EXPECT_TRUE(passed(bit, Epoch(1)));
}

TEST_F(Streams, SlotsOfRetiredStreamsServeNewOnes) {
  for (std::uint64_t epoch = 1; epoch < 5 * StreamTable::kSlots; ++epoch) {
    const StreamId one = stream();
    const std::uint64_t bit = use(one, Epoch(epoch));
    ASSERT_TRUE(table_->retire(one).is_ok());
    destroy(one);
    ASSERT_TRUE(driver().synchronize(DeviceId(0)).is_ok());
    ASSERT_TRUE(passed(bit, Epoch(epoch))) << epoch;
  }
}

TEST_F(Streams, AStreamThatDiedUnseenIsOverAndItsHandleIsForgotten) {
  const StreamId one = stream();
  const std::uint64_t bit = use(one, Epoch(1));
  destroy(one);
  EXPECT_TRUE(passed(bit, Epoch(1)));
  // A new stream with that handle is a different stream.
  const std::uint64_t again = use(one, Epoch(2));
  EXPECT_FALSE(table_->passed(again, Epoch(2)));
}

TEST_F(Streams, EachThreadFencesItsOwnDefaultStream) {
  const std::uint32_t mine = table_->slot_of(kPerThreadStream);
  std::uint64_t theirs = 0;
  std::thread([&] {
    theirs = use(kPerThreadStream, Epoch(1));
    EXPECT_TRUE(table_->fence_own(table_->slot_of(kPerThreadStream)).is_ok());
  }).join();
  EXPECT_NE(theirs, std::uint64_t{1} << mine);
  ASSERT_TRUE(driver().synchronize(DeviceId(0)).is_ok());
  EXPECT_TRUE(passed(theirs, Epoch(1)));
}

TEST_F(Streams, AThreadThatEndedWithoutAFenceIsWaitedForWithTheDevice) {
  std::uint64_t theirs = 0;
  std::thread([&] { theirs = use(kPerThreadStream, Epoch(1)); }).join();
  EXPECT_FALSE(passed(theirs, Epoch(1)));
  EXPECT_TRUE(waits_->wait(theirs, Epoch(1)).is_ok());
  EXPECT_TRUE(table_->passed(theirs, Epoch(1)));
}

// In sequence, as in a program with a thread per request.
TEST_F(Streams, SlotsOfEndedThreadsAreReused) {
  for (std::uint64_t epoch = 1; epoch <= 5 * StreamTable::kSlots; ++epoch) {
    std::thread([&] {
      use(kPerThreadStream, Epoch(epoch));
      EXPECT_TRUE(table_->fence_own(table_->slot_of(kPerThreadStream)).is_ok());
    }).join();
  }
  ASSERT_TRUE(driver().synchronize(DeviceId(0)).is_ok());
  std::set<std::uint32_t> slots;
  for (std::uint32_t i = 0; i < StreamTable::kSlots; ++i) slots.insert(table_->slot_of(stream()));
  EXPECT_EQ(slots.size(), StreamTable::kSlots) << "nobody shares one";
}

TEST_F(Streams, SlotsOfUnfencedEndedThreadsAreReusedAfterADeviceWait) {
  std::uint64_t theirs = 0;
  for (std::uint64_t epoch = 1; epoch <= 5 * StreamTable::kSlots; ++epoch) {
    std::thread([&] { theirs |= use(kPerThreadStream, Epoch(epoch)); }).join();
  }
  EXPECT_FALSE(passed(theirs, Epoch(5 * StreamTable::kSlots)));
  ASSERT_TRUE(waits_->wait(theirs, Epoch(5 * StreamTable::kSlots)).is_ok());
  std::set<std::uint32_t> slots;
  for (std::uint32_t i = 0; i < StreamTable::kSlots; ++i) slots.insert(table_->slot_of(stream()));
  EXPECT_EQ(slots.size(), StreamTable::kSlots);
}

TEST_F(Streams, TheWorkOfAThreadThatEndedIsNotForgottenBeforeItIsOver) {
  std::uint64_t theirs = 0;
  std::thread([&] {
    theirs = held_use(kPerThreadStream, Epoch(1));
    EXPECT_TRUE(table_->fence_own(table_->slot_of(kPerThreadStream)).is_ok());
  }).join();
  for (std::uint32_t i = 0; i < 2 * StreamTable::kSlots; ++i) {
    table_->slot_of(stream());
    EXPECT_FALSE(passed(theirs, Epoch(1)));
  }
  let_go();
  EXPECT_TRUE(passed(theirs, Epoch(1)));
}

TEST_F(Streams, ManyThreadsFindTheirStreams) {
  std::vector<StreamId> many;
  for (int i = 0; i < 80; ++i) many.push_back(stream());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (std::uint64_t round = 0; round < 200; ++round) {
        for (StreamId one : many) EXPECT_EQ(table_->slot_of(one), table_->slot_of(one));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Streams, WorkTheProgramWaitedForIsOverBeforeItsFence) {
  const StreamId one = stream(), two = stream();
  const std::uint64_t first = use(one, Epoch(1));
  held_use(one, Epoch(2));
  const std::uint64_t second = held_use(two, Epoch(3));
  ASSERT_TRUE(table_->fence(first | second, Epoch(3)).is_ok());
  EXPECT_FALSE(table_->passed(first, Epoch(1)));
  table_->note_over(one, Epoch(1));
  EXPECT_TRUE(table_->passed(first, Epoch(1)));
  EXPECT_FALSE(table_->passed(first, Epoch(2)));
  EXPECT_FALSE(table_->passed(second, Epoch(3)));
  table_->note_all_over(Epoch(3));
  EXPECT_TRUE(table_->passed(first | second, Epoch(3)));
}

TEST_F(Streams, WorkOfNoStreamIsNotOverWithTheOthers) {
  const std::uint64_t bit = use(kNoStream, Epoch(1));
  table_->note_all_over(Epoch(1));
  EXPECT_FALSE(table_->passed(bit, Epoch(1)));
}

TEST_F(Streams, AMarkSeparatesLaterWork) {
  const StreamId on = stream();
  const std::uint64_t bit = use(on, Epoch(1));
  const auto slot = static_cast<std::uint32_t>(std::countr_zero(bit));
  EXPECT_FALSE(table_->reach_of_next(slot));
  ASSERT_TRUE(table_->mark(slot, Epoch(1)).is_ok());
  held_use(on, Epoch(2));
  use(on, Epoch(3));
  ASSERT_TRUE(table_->fence(bit, Epoch(3)).is_ok());
  while (!table_->passed(bit, Epoch(1))) ASSERT_TRUE(table_->poll().is_ok());
  ASSERT_TRUE(table_->reach_of_next(slot));
  EXPECT_EQ(table_->reach_of_next(slot)->after, Epoch(1));
  EXPECT_EQ(table_->reach_of_next(slot)->until, Epoch(3));
}

}  // namespace
}  // namespace tessera
