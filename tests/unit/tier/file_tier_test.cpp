#include "tier/file_tier.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/log.hpp"
#include "block_buffer.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

class FileTierTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "tessera-file-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
    auto opened = FileTier::open(directory_, 256_MiB);
    if (opened.status().code() == Code::kNotSupported) GTEST_SKIP() << opened.status().to_string();
    ASSERT_TRUE(opened.is_ok()) << opened.status().to_string();
    tier_ = opened.take();
  }
  void TearDown() override {
    if (tier_) expect_ok(tier_->validate());
    tier_.reset();
    fs::remove_all(directory_);
  }

  static void expect_ok(const Status& status) { EXPECT_TRUE(status.is_ok()) << status.to_string(); }
  Status write(const Frame& frame, BlockBuffer& from) {
    auto started = tier_->write(frame, from.data());
    return started.is_ok() ? tier_->wait(started.value()) : started.status();
  }
  Status read(const Frame& frame, BlockBuffer& to) {
    auto started = tier_->read(frame, to.data());
    return started.is_ok() ? tier_->wait(started.value()) : started.status();
  }
  // The spill file has no name; it is found as the open file in our directory.
  fs::path spill_file() const {
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      const std::string target = fs::read_symlink(entry.path(), gone).string();
      if (target.starts_with(fs::canonical(directory_).string() + "/")) return entry.path();
    }
    ADD_FAILURE() << "no open file in " << directory_;
    return {};
  }
  Bytes space_on_disk() const {
    struct stat about {};
    EXPECT_EQ(::stat(spill_file().c_str(), &about), 0);
    return Bytes(static_cast<std::uint64_t>(about.st_blocks) * 512);
  }

  std::string directory_;
  std::unique_ptr<FileTier> tier_;
};

TEST_F(FileTierTest, PagesOfBothClassesSurviveTheFile) {
  for (const PageClass page_class : kPageClasses) {
    const Frame frame = tier_->take(page_class).value();
    BlockBuffer out(frame.bytes(), 3);
    BlockBuffer in(frame.bytes());
    expect_ok(write(frame, out));
    expect_ok(read(frame, in));
    EXPECT_TRUE(in.holds(3));
    tier_->give_back(frame);
  }
}

TEST_F(FileTierTest, ManyPagesInFlightKeepTheirBytesApart) {
  std::vector<Frame> frames;
  std::vector<BlockBuffer> buffers;
  std::vector<IoTicket> tickets;
  for (std::uint64_t i = 0; i < 24; ++i) {
    frames.push_back(tier_->take(PageClass::kBase).value());
    buffers.emplace_back(kBasePage, i);
  }
  for (std::size_t i = 0; i < frames.size(); ++i) {
    tickets.push_back(tier_->write(frames[i], buffers[i].data()).value());
  }
  for (const IoTicket ticket : tickets) expect_ok(tier_->wait(ticket));
  for (std::size_t i = 0; i < frames.size(); ++i) {
    BlockBuffer in(kBasePage);
    expect_ok(read(frames[i], in));
    EXPECT_TRUE(in.holds(i));
    tier_->give_back(frames[i]);
  }
}

TEST_F(FileTierTest, ABitThatFlippedOnTheDiskIsDataLossAndNotData) {
  const Frame other = tier_->take(PageClass::kBase).value();
  const Frame frame = tier_->take(PageClass::kBase).value();
  BlockBuffer out(kBasePage, 1);
  expect_ok(write(other, out));
  expect_ok(write(frame, out));
  const int spill = ::open(spill_file().c_str(), O_RDWR);
  ASSERT_GE(spill, 0);
  const off_t victim = static_cast<off_t>(frame.value) + 777'777;
  char byte = 0;
  ASSERT_EQ(::pread(spill, &byte, 1, victim), 1);
  byte = static_cast<char>(byte ^ 0x10);
  ASSERT_EQ(::pwrite(spill, &byte, 1, victim), 1);
  ::close(spill);

  BlockBuffer in(kBasePage);
  const Status status = read(frame, in);
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_NE(status.message().find("2097152 bytes at 2097152"), std::string::npos) << status.message();
  expect_ok(read(other, in));
  tier_->give_back(frame);
  tier_->give_back(other);
}

TEST_F(FileTierTest, PollReturnsTheOutcomeOnceWithTheChecksumVerified) {
  const Frame frame = tier_->take(PageClass::kLarge).value();
  BlockBuffer out(kLargePage, 9);
  BlockBuffer in(kLargePage);
  expect_ok(write(frame, out));
  const IoTicket ticket = tier_->read(frame, in.data()).value();
  Status status = tier_->poll(ticket);
  while (status.code() == Code::kNotReady) status = tier_->poll(ticket);
  expect_ok(status);
  EXPECT_TRUE(in.holds(9));
  EXPECT_EQ(tier_->poll(ticket).code(), Code::kInvalidArgument);
  tier_->give_back(frame);
}

TEST_F(FileTierTest, AFrameWithoutContentsCannotBeRead) {
  const Frame frame = tier_->take(PageClass::kBase).value();
  BlockBuffer buffer(kBasePage, 1);
  EXPECT_EQ(read(frame, buffer).code(), Code::kInvalidArgument);
  expect_ok(write(frame, buffer));
  tier_->give_back(frame);
  const Frame same = tier_->take(PageClass::kBase).value();
  ASSERT_EQ(same.value, frame.value);
  EXPECT_EQ(read(same, buffer).code(), Code::kInvalidArgument) << "the old owner's bytes";
  tier_->give_back(same);
}

TEST_F(FileTierTest, TrimReturnsTheSpaceOfFreeFramesToTheDisk) {
  const Frame kept = tier_->take(PageClass::kBase).value();
  const Frame frame = tier_->take(PageClass::kLarge).value();
  BlockBuffer small(kBasePage, 1);
  BlockBuffer large(kLargePage, 2);
  expect_ok(write(kept, small));
  expect_ok(write(frame, large));
  tier_->give_back(frame);
  EXPECT_GE(space_on_disk(), kLargePage + kBasePage) << "space is given back in bulk, not per page";
  EXPECT_EQ(tier_->usage().spare, kLargePage);
  tier_->trim();
  EXPECT_EQ(tier_->usage().spare, Bytes());
  EXPECT_LT(space_on_disk(), kLargePage);
  expect_ok(read(kept, small));
  EXPECT_TRUE(small.holds(1));
  tier_->give_back(kept);
}

TEST_F(FileTierTest, ACapacityOfZeroTouchesNoDirectoryAndIsAlwaysFull) {
  auto opened = FileTier::open("/nonexistent", Bytes());
  ASSERT_TRUE(opened.is_ok());
  EXPECT_EQ(opened.value()->take(PageClass::kBase).status().code(), Code::kOutOfMemory);
  opened.value()->trim();
  expect_ok(opened.value()->validate());
}

TEST_F(FileTierTest, ADirectoryThatIsMissingIsNamed) {
  const Status status = FileTier::open("/nonexistent", 64_MiB).status();
  EXPECT_EQ(status.code(), Code::kIo);
  EXPECT_NE(status.message().find("/nonexistent"), std::string::npos);
}

TEST_F(FileTierTest, NothingIsLeftInTheDirectory) {
  const Frame frame = tier_->take(PageClass::kBase).value();
  BlockBuffer out(kBasePage, 1);
  expect_ok(write(frame, out));
  EXPECT_TRUE(fs::is_empty(directory_));
  tier_->give_back(frame);
}

// A disk on which every transfer completes with the given outcome.
class OneOutcomeIo final : public FileIo {
 public:
  const char* name() const override { return "test"; }
  Result<IoTicket> read(void*, Bytes, Bytes) override { return IoTicket(++last_); }
  Result<IoTicket> write(const void*, Bytes, Bytes) override {
    if (!start.is_ok()) return start;
    return IoTicket(++last_);
  }
  Status poll(IoTicket) override { return outcome; }
  Status wait(IoTicket) override { return outcome; }
  Status discard(Bytes, Bytes) override { return Status(Code::kNotSupported, "no holes"); }

  Status start;
  Status outcome;

 private:
  std::uint64_t last_ = 0;
};

TEST(FileTierOverABadDisk, AFailedWriteLeavesNothingToRead) {
  auto owned = std::make_unique<OneOutcomeIo>();
  OneOutcomeIo& io = *owned;
  FileTier tier(std::move(owned), 4_MiB);
  BlockBuffer buffer(kBasePage, 1);
  const Frame frame = tier.take(PageClass::kBase).value();

  io.start = Status(Code::kBusy, "too many");
  EXPECT_EQ(tier.write(frame, buffer.data()).status().code(), Code::kBusy);
  io.start = Status::ok();
  io.outcome = Status(Code::kIo, "full");
  EXPECT_EQ(tier.wait(tier.write(frame, buffer.data()).value()).code(), Code::kIo);
  EXPECT_EQ(tier.read(frame, buffer.data()).status().code(), Code::kInvalidArgument);

  io.outcome = Status::ok();
  EXPECT_TRUE(tier.wait(tier.write(frame, buffer.data()).value()).is_ok());
  const auto reading = tier.read(frame, buffer.data());
  io.outcome = Status(Code::kNotReady, "");
  EXPECT_EQ(tier.poll(reading.value()).code(), Code::kNotReady);
  io.outcome = Status(Code::kIo, "gone");
  EXPECT_EQ(tier.poll(reading.value()).code(), Code::kIo);
  tier.give_back(frame);
  tier.trim();
  EXPECT_TRUE(tier.validate().is_ok());
}

// Several disks, each accessible to the test.
class FileTierOfTwo : public testing::Test {
 protected:
  void SetUp() override { make(kNoWriteBudget); }
  void make(Bytes budget) {
    std::vector<FileSpace> spaces;
    for (auto& io : io_) {
      auto owned = std::make_unique<OneOutcomeIo>();
      io = owned.get();
      spaces.push_back({"/somewhere", 8_MiB, std::move(owned)});
    }
    tier_ = std::make_unique<FileTier>(std::move(spaces), budget, [](const void*, Bytes) { return std::uint64_t{0}; });
  }
  Frame take() { return tier_->take(PageClass::kBase).value(); }
  std::size_t disk_of(const Frame& frame) const { return frame.value / (8_MiB).value(); }

  OneOutcomeIo* io_[2] = {};
  std::unique_ptr<FileTier> tier_;
  BlockBuffer buffer_{kBasePage};
};

TEST_F(FileTierOfTwo, FramesGoToTheDisksInTurn) {
  const Frame a = take(), b = take(), c = take();
  EXPECT_NE(disk_of(a), disk_of(b));
  EXPECT_EQ(disk_of(a), disk_of(c));
  EXPECT_EQ(tier_->usage().capacity, 16_MiB);
  for (const Frame& frame : {a, b, c}) tier_->give_back(frame);
  EXPECT_TRUE(tier_->validate().is_ok());
}

TEST_F(FileTierOfTwo, ADiskWithLessUnderWayIsPreferred) {
  const Frame a = take();
  const IoTicket ticket = tier_->write(a, buffer_.data()).value();
  const Frame b = take(), c = take();
  EXPECT_NE(disk_of(b), disk_of(a));
  EXPECT_NE(disk_of(c), disk_of(a));
  EXPECT_TRUE(tier_->wait(ticket).is_ok());
  for (const Frame& frame : {a, b, c}) tier_->give_back(frame);
}

TEST_F(FileTierOfTwo, AFailedDiskGetsNoMoreWritesAndTheOtherContinues) {
  const Frame a = take();
  io_[disk_of(a)]->outcome = Status(Code::kIo, "worn out");
  EXPECT_EQ(tier_->wait(tier_->write(a, buffer_.data()).value()).code(), Code::kIo);
  EXPECT_TRUE(tier_->takes_writes());
  EXPECT_EQ(tier_->reach(), 8_MiB + kBasePage);
  std::vector<Frame> rest;
  for (auto frame = tier_->take(PageClass::kBase); frame.is_ok(); frame = tier_->take(PageClass::kBase)) {
    rest.push_back(frame.value());
    EXPECT_NE(disk_of(rest.back()), disk_of(a));
  }
  EXPECT_EQ(rest.size(), 4u);
  io_[disk_of(rest[0])]->outcome = Status(Code::kIo, "worn out too");
  EXPECT_FALSE(tier_->wait(tier_->write(rest[0], buffer_.data()).value()).is_ok());
  EXPECT_FALSE(tier_->takes_writes());
  tier_->give_back(a);
  for (const Frame& frame : rest) tier_->give_back(frame);
  EXPECT_TRUE(tier_->validate().is_ok());
}

TEST_F(FileTierOfTwo, NothingIsWrittenBeyondTheBudgetAndThatIsSaidOnce) {
  make(3 * kBasePage - Bytes(1));
  const Frame frame = take();
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(tier_->wait(tier_->write(frame, buffer_.data()).value()).is_ok());
  }
  EXPECT_TRUE(tier_->takes_writes());
  set_log_level(LogLevel::kWarning);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(tier_->write(frame, buffer_.data()).status().code(), Code::kOutOfMemory);
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("4.00 MiB of the write budget of"), std::string::npos) << said;
  EXPECT_EQ(said.find("write budget"), said.rfind("write budget"));
  EXPECT_FALSE(tier_->takes_writes());
  EXPECT_EQ(tier_->reach(), kBasePage);
  EXPECT_TRUE(tier_->wait(tier_->read(frame, buffer_.data()).value()).is_ok());
  tier_->give_back(frame);
}

TEST(FileTierOfSeveral, ADirectoryThatCannotBeUsedIsLeftOut) {
  std::vector<FileSpace> spaces;
  spaces.push_back({"/nonexistent", 64_MiB});
  spaces.push_back({testing::TempDir(), 64_MiB});
  set_log_level(LogLevel::kWarning);
  testing::internal::CaptureStderr();
  auto opened = FileTier::open(std::move(spaces));
  const std::string said = testing::internal::GetCapturedStderr();
  if (opened.status().code() == Code::kNotSupported) GTEST_SKIP() << opened.status().to_string();
  ASSERT_TRUE(opened.is_ok());
  EXPECT_NE(said.find("/nonexistent"), std::string::npos);
  EXPECT_EQ(opened.value()->usage().capacity, 64_MiB);
}

}  // namespace
}  // namespace tessera
