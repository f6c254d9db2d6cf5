#include <chrono>
#include <filesystem>
#include <thread>

#include <fmt/core.h>

#include "allocator_machine.hpp"

namespace tessera {
namespace {

// An allocator that shares 64 MiB of host memory with a program that wants some of it.
class HostSharingTest : public AllocatorMachine {
 protected:
  HostSharingTest() : name_(fmt::format("host-sharing-test-{}", ::getpid())) {}
  ~HostSharingTest() override {
    allocator_.reset();
    other_.reset();
    std::filesystem::remove(fmt::format("/dev/shm/tessera-{}/{}", ::geteuid(), ledger_file_name(name_)));
  }

  void SetUp() override {
    if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "no /dev/shm";
    Options options = small(8_MiB, Bytes());
    options.host_memory.reset();
    options.node = name_;
    options.node_host_memory = SizeOrShare(64_MiB);
    options.fingerprints = "off";
    start(options, {.memory = 64_MiB});
    other_ = NodeMemory::open(options, clock_);
    ASSERT_NE(other_, nullptr);
  }
  // Blocks of 40 MiB in all, most of them in host memory.
  std::vector<Address> fill() {
    std::vector<Address> blocks;
    for (std::uint32_t i = 0; i < 10; ++i) {
      blocks.push_back(allocate(4_MiB));
      write(blocks.back(), i, 4_MiB);
    }
    return blocks;
  }
  // Only a test that fails waits for as long.
  bool other_gets(Bytes bytes) {
    for (int i = 0; i < 10; ++i) {
      if (other_->host().take(bytes)) return true;
    }
    return false;
  }

  const std::string name_;
  std::unique_ptr<NodeMemory> other_;
};

TEST_F(HostSharingTest, HostMemoryIsGrantedByTheLedger) {
  const auto blocks = fill();
  EXPECT_FALSE(other_->host().take(60_MiB)) << "more than a share, and in use";
  for (std::uint32_t i = 0; i < blocks.size(); ++i) EXPECT_TRUE(holds(blocks[i], i, 4_MiB));
}

TEST_F(HostSharingTest, UnusedHostMemoryIsReturnedWhenAnotherProgramIsEntitledToIt) {
  for (const Address block : fill()) ASSERT_TRUE(allocator_->free(block, kNoStream).is_ok());
  ASSERT_TRUE(other_gets(32_MiB));
  other_->host().give(32_MiB);
}

TEST_F(HostSharingTest, WhatIsInUseStaysIntact) {
  const auto blocks = fill();
  (void)other_gets(30_MiB);
  for (std::uint32_t i = 0; i < blocks.size(); ++i) EXPECT_TRUE(holds(blocks[i], i, 4_MiB));
  other_->host().give(other_->host().used());
}

}  // namespace
}  // namespace tessera
