#include "sim/sim_faults.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>

#include <cstdlib>
#include <thread>

namespace tessera {
namespace {

constexpr std::size_t kPage = 4096;

class SimFaultsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    page_ = ::mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page_, MAP_FAILED);
  }
  void TearDown() override { ::munmap(page_, kPage); }

  static void write(void* where) { *static_cast<volatile int*>(where) = 1; }
  static void nothing(void*) {}

  void* page_ = nullptr;
};

TEST_F(SimFaultsTest, AFunctionThatDoesNotFaultJustRuns) {
  int value = 0;
  EXPECT_FALSE(run_guarded(write, &value).has_value());
  EXPECT_EQ(value, 1);
}

TEST_F(SimFaultsTest, EachFaultReportsItsAddress) {
  for (int i = 0; i < 3; ++i) {
    const auto fault = run_guarded(write, page_);
    ASSERT_TRUE(fault.has_value());
    EXPECT_EQ(fault->signal, SIGSEGV);
    EXPECT_EQ(fault->address, reinterpret_cast<std::uint64_t>(page_));
  }
}

TEST_F(SimFaultsTest, AnUnreservedAddressFaults) {
  const auto fault = run_guarded(write, reinterpret_cast<void*>(0x10));
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->address, 0x10U);
}

using SimFaultsDeathTest = SimFaultsTest;

TEST_F(SimFaultsDeathTest, AFaultOutsideOfAGuardStillEndsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_FALSE(run_guarded(nothing, nullptr).has_value());
  EXPECT_DEATH(write(page_), "");
}

TEST_F(SimFaultsDeathTest, AnotherThreadsFaultIsNotCaught) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto fault_beside_a_guard = [](void* page) { std::thread(write, page).join(); };
  EXPECT_DEATH((void)run_guarded(fault_beside_a_guard, page_), "");
}

TEST_F(SimFaultsDeathTest, ThePreviousHandlerIsCalled) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto die_in_own_handler = [this] {
    struct sigaction own = {};
    own.sa_handler = [](int) { std::_Exit(42); };
    sigaction(SIGSEGV, &own, nullptr);
    if (run_guarded(nothing, nullptr).has_value()) std::_Exit(1);
    write(page_);
  };
  EXPECT_EXIT(die_in_own_handler(), ::testing::ExitedWithCode(42), "");
}

}  // namespace
}  // namespace tessera
