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
    std::filesystem::remove(fmt::format("/dev/shm/tessera-{}/{}", ::geteuid(), ledger_file_name(name_)));
  }

  const std::string name_ = fmt::format("node-api-test-{}", ::getpid());
  SteadyClock clock_;
  std::unique_ptr<Ledger> ledger_;
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

TEST_F(NodeApiTest, WrongArgumentsAreErrors) {
  EXPECT_EQ(tessera_node_programs("a/b", nullptr, 0, &count_, &budgets_), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_node_programs(nullptr, nullptr, 0, &count_, &budgets_), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_node_programs(name_.c_str(), nullptr, 1, &count_, &budgets_), TESSERA_INVALID_ARGUMENT);
  EXPECT_EQ(tessera_node_programs(name_.c_str(), nullptr, 0, nullptr, &budgets_), TESSERA_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace tessera
