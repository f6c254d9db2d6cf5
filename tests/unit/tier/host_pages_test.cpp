#include "tier/host_pages.hpp"

#include <gtest/gtest.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/available_memory.hpp"
#include "base/virtual_clock.hpp"
#include "sim/sim_driver.hpp"
#include "tier/host_tier.hpp"

namespace tessera {
namespace {

TEST(HostPages, SystemPagesAreWritableWhileOpenAndZeroWhenReopened) {
  const std::size_t size = (2_MiB).value();
  void* const start = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(start, MAP_FAILED);
  HostPages& pages = system_host_pages();
  ASSERT_TRUE(pages.open(start, 2_MiB));
  std::memset(start, 7, size);
  pages.close(start, 2_MiB);
  ASSERT_TRUE(pages.open(start, 2_MiB));
  EXPECT_EQ(static_cast<unsigned char*>(start)[size - 1], 0);
  ::munmap(start, size);
}

TEST(HostPages, AreZeroInAForkedChild) {
  const std::size_t size = (2_MiB).value();
  void* const start = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(start, MAP_FAILED);
  ASSERT_TRUE(system_host_pages().open(start, 2_MiB));
  std::memset(start, 7, size);
  const auto* const bytes = static_cast<const unsigned char*>(start);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(bytes[0] == 0 && bytes[size - 1] == 0 ? 5 : 6);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 5);
  EXPECT_EQ(bytes[size - 1], 7);
  system_host_pages().close(start, 2_MiB);
  ::munmap(start, size);
}

TEST(HostPages, PreferTheRequestedNodeAndFallBackToAny) {
  const std::size_t size = (2_MiB).value();
  void* const start = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(start, MAP_FAILED);
  HostPages& pages = system_host_pages();
  const auto node_of_policy = [&] {
    int mode = MPOL_DEFAULT;
    std::array<unsigned long, 16> nodes{};
    const long asked = ::syscall(SYS_get_mempolicy, &mode, nodes.data(), 1025, start, MPOL_F_ADDR);
    if (asked != 0) return -2;
    return mode == MPOL_PREFERRED ? std::countr_zero(nodes[0]) : -1;
  };
  const int before = node_of_policy();
  pages.place(start, 2_MiB, 0);
  if (before == -1) {
    EXPECT_EQ(node_of_policy(), 0);
  }
  pages.place(start, 2_MiB, 1023);
  pages.place(start, 2_MiB, 1u << 30);
  EXPECT_TRUE(pages.open(start, 2_MiB));
  std::memset(start, 7, size);
  ::munmap(start, size);
}

TEST(HostPages, MoreThanTheMachineHasIsRefusedUntried) {
  const Bytes too_much = available_memory();
  ASSERT_GT(too_much, Bytes());
  const std::size_t size = too_much.value() / 4096 * 4096;
  void* const start = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(start, MAP_FAILED);
  errno = 0;
  EXPECT_FALSE(system_host_pages().open(start, Bytes(size)));
  EXPECT_EQ(errno, ENOMEM);
  unsigned char first = 0;
  EXPECT_EQ(::mincore(start, 1, &first), 0);
  EXPECT_EQ(first & 1, 0);
  ::munmap(start, size);
}

TEST(SharedHostPages, AChildOfForkSharesThemWithItsParent) {
  void* const start = ::mmap(nullptr, kBasePage.value(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_TRUE(shared_host_pages().open(start, kBasePage));
  volatile auto* const first = static_cast<unsigned char*>(start);
  first[0] = 7;
  EXPECT_EXIT(
      {
        const bool seen = first[0] == 7;
        first[1] = 8;
        ::_exit(seen ? 3 : 4);
      },
      ::testing::ExitedWithCode(3), "");
  EXPECT_EQ(first[1], 8);
  shared_host_pages().close(start, kBasePage);
  EXPECT_DEATH(first[0] = 1, "");
  ::munmap(start, kBasePage.value());
}

TEST(HostPages, WithoutPagesAHostTierOfAnySizeTakesNoMemory) {
  VirtualClock clock;
  SimDriver driver({.memory = 64_MiB, .contents = SimContents::kNone}, clock);
  NoHostPages none;
  {
    HostTier tier(driver, 512_GiB, 64_MiB, none);
    std::vector<Frame> frames;
    for (int i = 0; i < 1000; ++i) frames.push_back(tier.take(PageClass::kLarge).take());
    EXPECT_EQ(tier.usage().used, 1000 * 32_MiB);
    EXPECT_TRUE(tier.pinned());
    for (const Frame& frame : frames) tier.give_back(frame);
    EXPECT_TRUE(tier.validate().is_ok());
  }
  EXPECT_TRUE(driver.leaks().empty());
}

// Later objects are destroyed earlier, so the handler runs when an object created by that call would be gone.
void use_pages_at_the_end() {
  void* const start = ::mmap(nullptr, kBasePage.value(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ::_exit(system_host_pages().open(start, kBasePage) ? 3 : 4);
}

TEST(SystemHostPagesDeathTest, AreUsableDuringProcessExit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // no call has been made there before
  EXPECT_EXIT(
      {
        std::atexit(use_pages_at_the_end);
        system_host_pages();
        std::exit(1);
      },
      ::testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace tessera
