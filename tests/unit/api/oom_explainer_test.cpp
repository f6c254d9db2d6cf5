#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "allocator_machine.hpp"

namespace tessera {
namespace {

class OomExplainerTest : public AllocatorMachine {
 protected:
  // Fills all tiers with blocks of 4 MiB; returns the error message of the first that does not fit.
  std::string message_when_full() {
    for (int i = 0; i < 64; ++i) {
      const auto block = allocator_->allocate(DeviceId(), 4_MiB, kNoStream);
      if (!block.is_ok()) return std::string(block.status().message());
      write(block.value(), 1, 4_MiB);
    }
    return "never full";
  }
};

TEST_F(OomExplainerTest, ReportsAFullHostBudget) {
  start(small(16_MiB, 16_MiB));
  const std::string message = message_when_full();
  EXPECT_NE(message.find("try: raise --file-memory"), std::string::npos) << message;
  EXPECT_NE(message.find("16.0 used + 0.0 free"), std::string::npos) << message;
}

TEST_F(OomExplainerTest, ReportsDisabledAutomaticEviction) {
  start(small(16_MiB, 64_MiB));
  ASSERT_TRUE(allocator_->heaps().set_automatic(false).is_ok());
  const std::string message = message_when_full();
  EXPECT_NE(message.find("automatic eviction"), std::string::npos) << message;
}

TEST_F(OomExplainerTest, NamesTheCallThatExposedBlocks) {
  start(small(16_MiB, 64_MiB));
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(allocator_->pins().expose(allocate(4_MiB), "cuIpcGetMemHandle").is_ok());
  const std::string message = message_when_full();
  EXPECT_NE(message.find("mostly by cuIpcGetMemHandle"), std::string::npos) << message;
}

TEST_F(OomExplainerTest, ReportsAUsedUpWriteBudget) {
  Options options = small(16_MiB, Bytes(), 512_MiB);
  options.file_write_budget = 8_MiB;
  start(options);
  const std::string message = message_when_full();
  EXPECT_NE(message.find("try: raise --file-write-budget"), std::string::npos) << message;
}

TEST_F(OomExplainerTest, ReportsABlockOrLaunchLargerThanTheDevice) {
  start(small(16_MiB, 64_MiB), without_host_frames());
  const auto large = allocator_->allocate(DeviceId(), 20_MiB, kNoStream);
  EXPECT_NE(large.status().message().find("a block of 20.0 MiB"), std::string_view::npos) << large.status().message();
  std::vector<Address> blocks;
  for (int i = 0; i < 5; ++i) blocks.push_back(allocate(4_MiB));
  AnnouncedUse use;
  const Status begun = allocator_->uses().begin(blocks, StreamId(), Access::kWrite, Use::Kind::kHold, "", use);
  EXPECT_NE(begun.message().find("one launch on device 0 uses 20.0 MiB"), std::string_view::npos) << begun.message();
}

}  // namespace
}  // namespace tessera
