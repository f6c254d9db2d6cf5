#include "api/ledger_access.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include <fmt/core.h>

namespace tessera {
namespace {

TEST(SystemLedgers, OpenTheLedgerOfTheOptions) {
  if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "no /dev/shm";
  Options options;
  options.node = fmt::format("ledger-access-test-{}", ::getpid());
  const std::string device = "00112233445566778899aabbccddeeff";
  const auto file = system_ledgers().open(options, device).take();
  ASSERT_TRUE(file->lock(std::chrono::milliseconds(20)).is_ok());
  const std::string path =
      fmt::format("/dev/shm/tessera-{}/{}", ::geteuid(), ledger_file_name(options.node + "." + device));
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_TRUE(file->remove().is_ok());
  file->unlock();
  options.node = "a/b";
  EXPECT_EQ(system_ledgers().open(options, device).status().code(), Code::kInvalidArgument);
}

TEST(SystemLedgers, APauseTakesTimeOfTheirClock) {
  const Nanoseconds before = system_ledgers().clock().now();
  system_ledgers().pause(Nanoseconds(2'000'000));
  EXPECT_GE(system_ledgers().clock().now(), before + Nanoseconds(2'000'000));
}

}  // namespace
}  // namespace tessera
