#include "tessera/node.h"

#include "ledger_fixture.hpp"
#include "tessera/tessera.h"

namespace tessera {
namespace {

// A ledger of this test, where programs have theirs.
class NodeApiTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "no /dev/shm";
    ledger_ = std::make_unique<Ledger>(open_ledger_file({"/dev/shm"}, name_).take(), clock_,
                                       Ledger::Self{this_process(), 7, "a test"}, NodeBudgets{Bytes(1000), Bytes(500)});
    ASSERT_TRUE(ledger_->transact([](Books& books) {
                         books.own_row().of(NodeResource::kHostMemory) = {300, 400};
                       })
                    .is_ok());
  }
  ~NodeApiTest() override {
    ledger_.reset();
    for (const std::string& name : {name_, name_ + "." + kOne, name_ + "." + kOther}) {
      std::filesystem::remove(fmt::format("/dev/shm/tessera-{}/{}", ::geteuid(), ledger_file_name(name)));
    }
  }

  static constexpr const char* kOne = "00112233445566778899aabbccddeeff";
  static constexpr const char* kOther = "ffeeddccbbaa99887766554433221100";
  const std::string name_ = fmt::format("node-api-test-{}", ::getpid());
  SteadyClock clock_;
  std::unique_ptr<Ledger> ledger_;
  std::unique_ptr<Ledger> join_device(const std::string& device) {
    auto joined =
        std::make_unique<Ledger>(open_ledger_file({"/dev/shm"}, name_, device).take(), clock_,
                                 Ledger::Self{this_process(), 7, "a test"}, NodeBudgets{Bytes(), Bytes(), 64_MiB});
    const Status written = joined->transact([this](Books& books) {
      LedgerRow& row = books.own_row();
      row.of(NodeResource::kDevice) = {(10_MiB).value(), (20_MiB).value()};
      row.ceiling = (40_MiB).value();
      row.limit = (48_MiB).value();
      row.turns = 3;
      row.waited_ns = 5;
      row.active_ns = clock_.now().value();
    });
    EXPECT_TRUE(written.is_ok()) << written.to_string();
    return joined;
  }
  std::vector<tessera_node_device_program> device_programs() {
    EXPECT_EQ(tessera_node_device_programs(name_.c_str(), nullptr, 0, &count_), TESSERA_OK);
    std::vector<tessera_node_device_program> programs(count_);
    EXPECT_EQ(tessera_node_device_programs(name_.c_str(), programs.data(), count_, &count_), TESSERA_OK);
    return programs;
  }

  std::size_t count_ = 0;
  tessera_node_amounts budgets_{};
};

TEST_F(NodeApiTest, ShowsTheProgramsOfALedger) {
  ASSERT_EQ(tessera_node_programs(name_.c_str(), nullptr, 0, &count_, &budgets_), TESSERA_OK);
  ASSERT_EQ(count_, 1U);
  EXPECT_EQ(budgets_.host, 1000U);
  EXPECT_EQ(budgets_.file, 500U);
  tessera_node_program program{};
  ASSERT_EQ(tessera_node_programs(name_.c_str(), &program, 1, &count_, &budgets_), TESSERA_OK);
  EXPECT_EQ(program.pid, ::getpid());
  EXPECT_STREQ(program.name, "a test");
  EXPECT_EQ(program.weight, 7U);
  EXPECT_EQ(program.held.host, 300U);
  EXPECT_EQ(program.wanted.host, 400U);
  EXPECT_EQ(program.share.host, 400U);
}

TEST_F(NodeApiTest, SetsAWeight) {
  ASSERT_EQ(tessera_node_set_weight(name_.c_str(), ::getpid(), 9), TESSERA_OK);
  tessera_node_program program{};
  ASSERT_EQ(tessera_node_programs(name_.c_str(), &program, 1, &count_, &budgets_), TESSERA_OK);
  EXPECT_EQ(program.weight, 9U);
  EXPECT_EQ(tessera_node_set_weight(name_.c_str(), ::getppid(), 9), TESSERA_NOT_FOUND);
  EXPECT_EQ(tessera_node_set_weight(name_.c_str(), ::getpid(), 0), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_node_set_weight(name_.c_str(), ::getpid(), 10'001), TESSERA_INVALID_ARGUMENT);
}

TEST_F(NodeApiTest, ShowsTheSharesOfDevices) {
  EXPECT_TRUE(device_programs().empty());
  const auto other = join_device(kOther), one = join_device(kOne);
  const auto programs = device_programs();
  ASSERT_EQ(programs.size(), 2U);
  EXPECT_STREQ(programs[0].device, kOne);
  EXPECT_STREQ(programs[1].device, kOther);
  EXPECT_EQ(programs[0].pid, ::getpid());
  EXPECT_STREQ(programs[0].name, "a test");
  EXPECT_EQ(programs[0].weight, 7U);
  EXPECT_EQ(programs[0].active, 1U);
  EXPECT_EQ(programs[0].turn, TESSERA_NODE_TURN_NONE);
  EXPECT_EQ(Bytes(programs[0].total), 64_MiB);
  EXPECT_EQ(programs[0].budget, 0U);
  EXPECT_EQ(Bytes(programs[0].held), 10_MiB);
  EXPECT_EQ(Bytes(programs[0].wanted), 20_MiB);
  EXPECT_EQ(Bytes(programs[0].share), 40_MiB);
  EXPECT_EQ(Bytes(programs[0].limit), 48_MiB);
  EXPECT_EQ(programs[0].turns, 3U);
  EXPECT_EQ(programs[0].waited_ns, 5U);
}

TEST_F(NodeApiTest, SetsLimitsOfDevicesAndWeightsThere) {
  const auto one = join_device(kOne), other = join_device(kOther);
  const auto set = [this](const char* device, Bytes limit) {
    return tessera_node_set_device_limit(name_.c_str(), ::getpid(), device, limit.value());
  };
  EXPECT_EQ(set("0011", 32_MiB), TESSERA_OK);
  EXPECT_EQ(Bytes(device_programs()[0].limit), 32_MiB);
  EXPECT_EQ(Bytes(device_programs()[1].limit), 48_MiB);
  EXPECT_EQ(set("", 40_MiB), TESSERA_OK);
  EXPECT_EQ(Bytes(device_programs()[1].limit), 40_MiB);
  EXPECT_EQ(set("", Bytes()), TESSERA_OK);
  EXPECT_EQ(Bytes(device_programs()[0].limit), 48_MiB);
  EXPECT_EQ(set("", 64_MiB), TESSERA_OK) << "more than it was started with";
  EXPECT_EQ(Bytes(device_programs()[0].limit), 64_MiB);
  EXPECT_EQ(set("", 65_MiB), TESSERA_INVALID_ARGUMENT) << "the device has less";
  EXPECT_EQ(set("", 31_MiB), TESSERA_INVALID_ARGUMENT) << "nothing would run";
  EXPECT_EQ(set("22", 40_MiB), TESSERA_NOT_FOUND);
  EXPECT_EQ(tessera_node_set_device_limit(name_.c_str(), ::getppid(), "", 40 << 20), TESSERA_NOT_FOUND);
  EXPECT_EQ(tessera_node_set_device_limit(nullptr, ::getpid(), "", 40 << 20), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_node_set_device_limit("a/b", ::getpid(), "", 40 << 20), TESSERA_INVALID_ARGUMENT);
  ASSERT_EQ(tessera_node_set_weight(name_.c_str(), ::getpid(), 9), TESSERA_OK);
  for (const auto& program : device_programs()) EXPECT_EQ(program.weight, 9U);
}

TEST_F(NodeApiTest, WrongArgumentsAreErrors) {
  EXPECT_EQ(tessera_node_device_programs("a/b", nullptr, 0, &count_), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_node_device_programs(name_.c_str(), nullptr, 1, &count_), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_node_programs("a/b", nullptr, 0, &count_, &budgets_), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_node_programs(nullptr, nullptr, 0, &count_, &budgets_), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_node_programs(name_.c_str(), nullptr, 1, &count_, &budgets_), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_node_programs(name_.c_str(), nullptr, 0, nullptr, &budgets_), TESSERA_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace tessera
