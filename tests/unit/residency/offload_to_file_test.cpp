// Runs that a plan sends to the file: how they get there, and which copies remain.
#include "residency_fixture.hpp"

namespace tessera {
namespace {

using SentRun = tessera::Run;  // a test has a member Run() of its own

constexpr Bytes kRunBytes = 4_MiB;

// Two runs used alternately on a device for four: by plan the first is in the file from its use to its next.
class OffloadToFileTest : public ::testing::Test {
 protected:
  explicit OffloadToFileTest(Bytes host = 64_MiB, Bytes file = 64_MiB)
      : machine_({.device = 4 * kRunBytes, .host = host, .file = file}) {}

  void activate_plan(Location to = Location::kFile) {
    Iteration iteration;
    iteration.runs = {{.bytes = kRunBytes}, {.bytes = kRunBytes}};
    iteration.uses = {{.run = 0}, {.run = 1}};
    iteration.steps = {{Nanoseconds(1), 0, 1}, {Nanoseconds(1), 1, 2}};
    const Gap gap{.run = 0, .after = 0, .until = 0, .wraps = true};
    machine_.residency().activate_plan(iteration, {"test", {{.gap = gap, .back_at = 0, .to = to}}, rest_.get()});
  }
  void write_both() {
    for (SentRun* run : {sent_, other_}) ASSERT_OK(machine_.write(run, 1));
    ASSERT_OK(machine_.settle());
  }
  void step(SentRun* run) {
    EXPECT_OK(machine_.check(run, 1));
    EXPECT_OK(machine_.sim().synchronize(DeviceId(0)));
    machine_.residency().advance();
    EXPECT_OK(machine_.settle());
    EXPECT_EQ(machine_.valid(), "ok");
  }
  Bytes on_device(const SentRun* run) { return machine_.residency().figures().whereabouts(*run)[0]; }
  Bytes in_host(const SentRun* run) { return machine_.residency().figures().whereabouts(*run)[2]; }
  Bytes in_file(const SentRun* run) { return machine_.residency().figures().whereabouts(*run)[3]; }
  ResidencyStats stats() { return machine_.residency().figures().stats(); }

  std::unique_ptr<Policy> rest_ = make_policy("lru").take();
  ResidencyMachine machine_;
  SentRun* sent_ = machine_.add({0, 2});
  SentRun* other_ = machine_.add({0, 2});
};

TEST_F(OffloadToFileTest, SpillsToTheFileEvenWithHostRoom) {
  write_both();
  activate_plan();
  step(sent_);
  EXPECT_EQ(in_file(sent_), kRunBytes);
  EXPECT_EQ(machine_.tiers().host.usage().used, Bytes());
  step(other_);
  EXPECT_EQ(on_device(other_), kRunBytes);
  step(sent_);
  EXPECT_EQ(stats().bytes_file_read, kRunBytes);
}

TEST_F(OffloadToFileTest, ARunOffloadedToTheHostStaysThere) {
  write_both();
  activate_plan(Location::kHost);
  step(sent_);
  EXPECT_EQ(in_host(sent_), kRunBytes);
  EXPECT_EQ(stats().bytes_file_written, Bytes());
}

TEST_F(OffloadToFileTest, AReadOnlyRunIsWrittenOnceAndReadEachTime) {
  write_both();
  activate_plan();
  for (std::uint64_t round = 0; round < 4; ++round) {
    step(sent_);
    EXPECT_EQ(in_file(sent_), kRunBytes);
    step(other_);
    EXPECT_EQ(stats().bytes_file_read, kRunBytes * round);
  }
  EXPECT_EQ(stats().bytes_file_written, kRunBytes);
  EXPECT_EQ(stats().bytes_out, kRunBytes);
}

TEST_F(OffloadToFileTest, SpillsAnExistingHostCopyWithoutACopyOut) {
  write_both();
  ASSERT_OK(machine_.evict(sent_));
  ASSERT_OK(machine_.check(sent_, 1));  // it is only read, so the copy stays
  ASSERT_OK(machine_.settle());
  ASSERT_EQ(stats().bytes_out, kRunBytes);
  activate_plan();
  step(sent_);
  EXPECT_EQ(in_file(sent_), kRunBytes);
  EXPECT_EQ(machine_.tiers().host.usage().used, Bytes());
  EXPECT_EQ(stats().bytes_out, kRunBytes);
  step(other_);
  step(sent_);
}

TEST_F(OffloadToFileTest, AFailedSpillLeavesTheHostCopy) {
  write_both();
  machine_.file().set_write_outcome(Status(Code::kIo, "worn out"));
  activate_plan();
  step(sent_);
  EXPECT_EQ(in_host(sent_), kRunBytes);
  step(other_);
  step(sent_);
  EXPECT_EQ(in_host(sent_), kRunBytes) << "and is not tried again for ever";
}

TEST_F(OffloadToFileTest, AUseBeforeTheSpillReadsTheHostCopy) {
  write_both();
  activate_plan();
  EXPECT_OK(machine_.check(sent_, 1));
  EXPECT_OK(machine_.sim().synchronize(DeviceId(0)));
  machine_.residency().advance();
  EXPECT_OK(machine_.check(other_, 1));
  EXPECT_OK(machine_.check(sent_, 1));
  EXPECT_EQ(stats().bytes_file_read, Bytes());
  EXPECT_OK(machine_.settle());
}

class SmallFileTest : public OffloadToFileTest {
 protected:
  SmallFileTest() : OffloadToFileTest(64_MiB, kRunBytes / 2) {}
};

TEST_F(SmallFileTest, PagesBeyondTheFileStayInTheHost) {
  write_both();
  activate_plan();
  step(sent_);
  EXPECT_EQ(in_file(sent_), kRunBytes / 2);
  EXPECT_EQ(in_host(sent_), kRunBytes / 2);
  step(other_);
  step(sent_);
}

// The host is full of two other runs that were used longer ago.
class FullHostTest : public OffloadToFileTest {
 protected:
  FullHostTest() : OffloadToFileTest(2 * kRunBytes) {}
};

TEST_F(FullHostTest, SpillsNoOtherRunFromTheHost) {
  std::vector<SentRun*> rest = machine_.add_many(2, {0, 2});
  for (SentRun* run : rest) {
    ASSERT_OK(machine_.write(run, 1));
    ASSERT_OK(machine_.evict(run));
  }
  write_both();
  activate_plan();
  step(sent_);
  EXPECT_EQ(in_file(sent_), kRunBytes);
  for (SentRun* run : rest) EXPECT_EQ(in_host(run), kRunBytes);
  step(other_);
  step(sent_);
}

}  // namespace
}  // namespace tessera
