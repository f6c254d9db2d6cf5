// The complete allocator with a device that lends memory.
#include "allocator_machine.hpp"
#include "api/budgets.hpp"
#include "base/log.hpp"

namespace tessera {
namespace {

constexpr DeviceId kBorrower{0}, kLender{1};

class PeerMemoryTest : public AllocatorMachine {
 protected:
  static Options lending(const char* lenders) {
    Options options = small(32_MiB, 16_MiB);
    options.peer_memory = lenders;
    return options;
  }
  // Each with its own pattern, starting at 1.
  std::vector<Address> written(std::uint32_t count) {
    std::vector<Address> blocks;
    for (std::uint32_t i = 0; i < count; ++i) {
      blocks.push_back(allocate(16_MiB));
      write(blocks[i], i + 1, 16_MiB);
    }
    return blocks;
  }
  void expect_patterns(const std::vector<Address>& blocks) {
    for (std::uint32_t i = 0; i < blocks.size(); ++i) EXPECT_TRUE(holds(blocks[i], i + 1, 16_MiB)) << i;
  }
  Bytes free_on(DeviceId device) { return sim_->memory_info(device).value().free; }
};

TEST_F(PeerMemoryTest, EvictsToThePeerWhileItHasRoom) {
  start(lending("1:80MiB"));
  const std::vector<Address> blocks = written(6);
  EXPECT_LT(free_on(kLender), 256_MiB);
  const auto where = allocator_->memory().where(blocks[0]).take();
  EXPECT_EQ(where.tiers[1], 16_MiB);
  expect_patterns(blocks);
  const tessera_stats stats = allocator_->stats().snapshot().totals;
  EXPECT_EQ(stats.peer_capacity, (80_MiB).value());
  EXPECT_GT(stats.peer_peak, 0U);
  EXPECT_GT(stats.bytes_peer_in, 0U);
  EXPECT_EQ(stats.bytes_in + stats.bytes_out, 0U) << "there is room for one more there, so nobody has to go on";
}

TEST_F(PeerMemoryTest, AllOfTheHeapCanBeFilled) {
  start(lending("1:64MiB"));
  const std::vector<Address> blocks = written(7);  // 112 MiB: the device, the peer, and the host
  EXPECT_EQ(allocator_->allocate(kBorrower, 16_MiB, kNoStream).status().code(), Code::kOutOfMemory);
  expect_patterns(blocks);
}

TEST_F(PeerMemoryTest, TheLendersHeapIsReducedByTheLoanAndBorrowsNothing) {
  Options options = lending("1:64MiB");
  options.device_memory.reset();
  start(options);
  const Address own = allocate(2_MiB, kLender);
  EXPECT_EQ(allocator_->memory().where(own).value().device, kLender);
  const auto memory = allocator_->memory().info(kLender).value();
  EXPECT_LE(memory.free, 192_MiB - 2_MiB) << "of 256 MiB";
  EXPECT_GT(memory.free, 160_MiB) << "all that is left but for a context";
  EXPECT_FALSE(allocator_->allocate(kLender, 240_MiB, kNoStream).is_ok()) << "its host memory is 16 MiB";
}

TEST_F(PeerMemoryTest, IgnoresAnUnreachableLender) {
  start(lending("1:64MiB"), {.devices = 2, .memory = 256_MiB, .apart = {{0, 1}}});
  const std::vector<Address> blocks = written(3);
  EXPECT_EQ(allocator_->stats().snapshot().totals.bytes_peer_out, 0U);
  EXPECT_GT(allocator_->stats().snapshot().totals.bytes_out, 0U);
  expect_patterns(blocks);
}

TEST_F(PeerMemoryTest, ALenderLendsNoMoreThanItHas) {
  start(lending("1:1GiB"));
  const Address own = allocate(2_MiB, kBorrower);
  EXPECT_EQ(allocator_->stats().snapshot().totals.peer_capacity, (256_MiB).value());
  EXPECT_EQ(allocator_->memory().info(kLender).value().free, Bytes()) << "of its own";
  EXPECT_EQ(allocator_->memory().where(own).value().device, kBorrower);
}

TEST_F(PeerMemoryTest, ReportsPeerMemoryOnlyToBorrowers) {
  Options options = lending("1:64MiB");
  options.report_memory = "virtual";
  start(options, {.devices = 3, .memory = 256_MiB, .apart = {{2, 1}}});
  const std::vector<Address> blocks = written(6);
  EXPECT_EQ(allocator_->memory().info(kBorrower).value().total, 112_MiB);
  EXPECT_EQ(allocator_->memory().info(kBorrower).value().free, 16_MiB);
  for (const DeviceId other : {kLender, DeviceId(2)}) {
    const MemoryInfo memory = allocator_->memory().info(other).take();
    EXPECT_EQ(memory.total, 48_MiB) << "its own, and the host's";
    EXPECT_EQ(memory.free, 48_MiB) << "what does not fit into the other's is with the peer";
  }
  const auto refusal = [&](DeviceId device) {
    return std::string(allocator_->allocate(device, 128_MiB, kNoStream).status().message());
  };
  EXPECT_NE(refusal(kBorrower).find("peer "), std::string::npos) << refusal(kBorrower);
  EXPECT_EQ(refusal(kLender).find("peer "), std::string::npos) << refusal(kLender);
  expect_patterns(blocks);
}

TEST_F(PeerMemoryTest, WithoutABorrowerNothingIsLent) {
  Options options = lending("0:64MiB");
  start(options, {.devices = 1, .memory = 256_MiB});
  const std::vector<Address> blocks = written(2);
  std::string unhinted;
  for (const auto& fact : allocator_->stats().snapshot().facts) {
    if (fact.name == "unhinted_access") unhinted = fact.value;
  }
  EXPECT_EQ(unhinted, "by block");
  EXPECT_EQ(allocator_->stats().snapshot().totals.peer_capacity, 0U);
  expect_patterns(blocks);
}

TEST(PeerLoans, NameExistingDevicesWithABorrower) {
  set_log_level(LogLevel::kWarning);
  const auto between = [](std::vector<Loan> loans, int devices, const char* said) {
    ::testing::internal::CaptureStderr();
    loans = loans_between(std::move(loans), devices);
    const std::string line = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(line.empty(), *said == '\0') << line;
    EXPECT_NE(line.find(said), std::string::npos) << line;
    return loans.size();
  };
  const Loan first{DeviceId(0), 16_MiB}, second{DeviceId(1), 16_MiB};
  EXPECT_EQ(between({second}, 2, ""), 1U);
  EXPECT_EQ(between({first}, 1, "none can borrow"), 0U);
  EXPECT_EQ(between({second}, 1, "no such device: 1"), 0U);
  EXPECT_EQ(between({first, second}, 2, "none can borrow"), 0U);
  EXPECT_EQ(between({first, second}, 3, ""), 2U);
}

TEST(PeerLoans, ParseTheOption) {
  Options options;
  EXPECT_TRUE(peer_loans(options).value().empty());
  options.peer_memory = "1:16MiB,3:5MiB";
  const std::vector<Loan> loans = peer_loans(options).take();
  ASSERT_EQ(loans.size(), 2U);
  EXPECT_EQ(loans[0].lender, DeviceId(1));
  EXPECT_EQ(loans[0].bytes, 16_MiB);
  EXPECT_EQ(loans[1].lender, DeviceId(3));
  EXPECT_EQ(loans[1].bytes, 4_MiB) << "whole pages";
  for (const char* const wrong : {"1", "16GiB", "x:1GiB", "1:", "1:much", "1:4GiB,1:4GiB", "-1:4GiB", "1:1MiB", ":4GiB",
                                  "1:9000000TiB,2:9000000TiB"}) {
    options.peer_memory = wrong;
    EXPECT_EQ(options.validate().code(), Code::kInvalidArgument) << wrong;
  }
}

TEST(PeerLoans, ConflictWithHostBackedPages) {
  Options options;
  options.peer_memory = "1:16MiB";
  EXPECT_TRUE(options.validate().is_ok());
  options.unhinted_access = "host-backed";
  EXPECT_EQ(options.validate().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace tessera
