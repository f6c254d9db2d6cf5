// The work in a recording: the blocks that it uses, by whatever interior addresses.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "allocator_machine.hpp"

namespace tessera {
namespace {

class AllocatorTraceTest : public AllocatorMachine {
 protected:
  std::vector<nlohmann::json> operations() {
    EXPECT_TRUE(allocator_->finish().is_ok());
    std::vector<nlohmann::json> found;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) {
      auto parsed = nlohmann::json::parse(line);
      if (parsed["t"] == "op") found.push_back(std::move(parsed));
    }
    return found;
  }
  void launch(const std::vector<Address>& addresses, Access access) {
    AnnouncedUse use;
    EXPECT_TRUE(allocator_->begin_use(addresses, StreamId(), access, Use::Kind::kGate, "gemm", use).is_ok());
    allocator_->end_use(use);
  }

  const std::string path_ = ::testing::TempDir() + "allocator_trace.jsonl";
};

TEST_F(AllocatorTraceTest, AnOperationNamesBlocksAndNothingElse) {
  Options options = small(32_MiB, 32_MiB);
  options.trace = path_;
  start(options);
  const Address first = allocate(3_MiB), second = allocate(1_MiB);
  launch({first + 1_MiB, second, Address(64)}, Access::kRead);
  launch({second + 7_B}, Access::kWrite);
  const auto found = operations();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0]["name"], "gemm");
  EXPECT_EQ(found[0]["r"], (std::vector<std::uint64_t>{first.value(), second.value()}));
  EXPECT_TRUE(found[0]["w"].empty());
  EXPECT_EQ(found[1]["r"], std::vector<std::uint64_t>{second.value()});
  EXPECT_EQ(found[1]["w"], found[1]["r"]);
}

TEST_F(AllocatorTraceTest, AnAddressInAReservationNamesWhatIsMappedThere) {
  Options options = small(16_MiB, 64_MiB);
  options.trace = path_;
  start(options);
  const Address at = allocator_->reserve_addresses(DeviceId(), 64_MiB).value();
  const auto map = [&](Address to) {
    ASSERT_EQ(allocator_->move_mappable(allocator_->create_mappable(DeviceId(), 4_MiB).value(), to).value(), to);
  };
  map(at);
  map(at + 4_MiB);
  launch({at + 1_MiB, at + 5_MiB}, Access::kWrite);
  AnnouncedUse use;
  const AddressRange range{at + 5_MiB, 1_MiB};
  ASSERT_TRUE(
      allocator_->begin_use(std::span(&range, 1), StreamId(), Access::kRead, Use::Kind::kGate, "copy", use).is_ok());
  allocator_->end_use(use);
  for (std::uint64_t i = 2; i < 6; ++i) map(at + 4_MiB * i);
  launch({at + 1_MiB}, Access::kWrite);
  const auto found = operations();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0]["r"], (std::vector<std::uint64_t>{at.value(), (at + 4_MiB).value()}));
  EXPECT_EQ(found[1]["r"], std::vector<std::uint64_t>{(at + 4_MiB).value()});
  EXPECT_EQ(found[2]["r"], std::vector<std::uint64_t>{at.value()}) << "all of them do not fit";
  for (std::uint64_t i = 0; i < 6; ++i) EXPECT_TRUE(allocator_->destroy_mappable(at + 4_MiB * i).is_ok());
  EXPECT_TRUE(allocator_->unreserve_addresses(at).is_ok());
}

}  // namespace
}  // namespace tessera
