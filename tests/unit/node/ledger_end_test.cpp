// The end of a ledger: its last program removes the file, and what killed programs left is removed by the next one.
#include <sys/mman.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <fstream>
#include <random>
#include <span>

#include "ledger_fixture.hpp"

namespace tessera {
namespace {

constexpr std::size_t kPrograms = 4;

class LedgerEndTest : public LedgerTest {
 protected:
  bool exists() const { return std::filesystem::exists(path()); }
  void remove_ended() { remove_ended_ledgers({folder_}, clock_); }
  // Runs the body in a child with a file that ends it before its call with number `last`. Whether it ended by itself.
  bool run_until(int last, const std::function<void(std::unique_ptr<LedgerFile>)>& body) {
    const pid_t child = start([&] { body(std::make_unique<KilledLedgerFile>(open(), last)); });
    int state = 0;
    EXPECT_EQ(::waitpid(child, &state, 0), child);
    EXPECT_TRUE(WIFEXITED(state) ? WEXITSTATUS(state) == 0 : WTERMSIG(state) == SIGKILL) << state;
    return WIFEXITED(state);
  }
};

TEST_F(LedgerEndTest, TheLastProgramThatLeavesRemovesTheFile) {
  auto one = join(), other = join();
  ASSERT_TRUE(hold(*one, Bytes(1)).is_ok());
  ASSERT_TRUE(hold(*other, Bytes(2)).is_ok());
  one.reset();
  EXPECT_EQ(rows().size(), 1U);
  other.reset();
  EXPECT_FALSE(exists());
}

TEST_F(LedgerEndTest, ALookAtTheBudgetsMakesNoFile) {
  EXPECT_FALSE(budgets_in_force(*open()).value());
  EXPECT_FALSE(exists());
}

// Before each call on the file, from joining to the removal. Whatever is left is removed by a sweep, and is in the way
// of no program that joins.
TEST_F(LedgerEndTest, TheLastProgramMayBeKilledBeforeEveryStep) {
  bool ended = false;
  int last = 0, left = 0;
  for (; !ended && last < 200; ++last) {
    const auto body = [this](std::unique_ptr<LedgerFile> file) {
      const auto ledger = join(std::move(file));
      (void)hold(*ledger, Bytes(100)).is_ok();
    };
    ended = run_until(last + 1, body);
    left += exists() ? 1 : 0;
    if (last % 2 == 0) remove_ended();
    EXPECT_TRUE(last % 2 != 0 || !exists()) << "before step " << last + 1;
    const auto next = join();
    ASSERT_TRUE(hold(*next, Bytes(10)).is_ok());
    ASSERT_EQ(books_of(*next).held(NodeResource::kHostMemory), Bytes(10)) << "before step " << last + 1;
  }
  EXPECT_TRUE(ended);
  EXPECT_GE(left, 5) << "there was something to remove";
  EXPECT_FALSE(exists());
}

// The same for a sweep.
TEST_F(LedgerEndTest, ASweepMayBeKilledBeforeEveryStep) {
  bool ended = false;
  for (int last = 1; !ended; ++last) {
    ASSERT_FALSE(run_until(7, [this](std::unique_ptr<LedgerFile> file) {  // it dies with a row
      const auto ledger = join(std::move(file));
      (void)hold(*ledger, Bytes(100)).is_ok();
      (void)hold(*ledger, Bytes(200)).is_ok();
      (void)hold(*ledger, Bytes(300)).is_ok();
    }));
    ASSERT_TRUE(exists());
    ended = run_until(last, [this](std::unique_ptr<LedgerFile> file) {
      if (!remove_if_ended(*file, clock_).is_ok()) ::_exit(EXIT_FAILURE);
    });
    EXPECT_TRUE(!ended || !exists());
    const auto next = join();
    ASSERT_TRUE(hold(*next, Bytes(10)).is_ok());
    ASSERT_EQ(books_of(*next).held(NodeResource::kHostMemory), Bytes(10));
  }
}

TEST_F(LedgerEndTest, ASweepLeavesWhatIsInUseOrIsNoLedger) {
  const auto ledger = join();
  ASSERT_TRUE(hold(*ledger, Bytes(10)).is_ok());
  const std::string notes = std::filesystem::path(path()).parent_path() / ledger_file_name("notes");
  std::ofstream(notes) << "the notes of another program";
  std::filesystem::permissions(notes, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  const auto empty = open_ledger_file({folder_}, "empty").take();
  ASSERT_TRUE(empty->lock(Ledger::kPatience).is_ok());
  remove_ended();
  EXPECT_EQ(all_ledger_files({folder_}).size(), 3U) << "one of them is locked";
  empty->unlock();
  remove_ended();
  EXPECT_EQ(all_ledger_files({folder_}).size(), 2U);
  EXPECT_TRUE(exists());
  EXPECT_EQ(std::filesystem::file_size(notes), 28U);
  EXPECT_EQ(books_of(*ledger).held(NodeResource::kHostMemory), Bytes(10));
}

// Programs join, leave, sweep and are killed all the time, so that the file is removed and made again. The row of a
// program that lives is in the file that has the name, at each moment.
TEST_F(LedgerEndTest, NoRowOfALivingProgramIsLostWhileOthersComeAndGo) {
  struct Counts {
    std::atomic<std::uint64_t> looked, lost;
  };
  void* const page = ::mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  auto& counts = *new (page) Counts{};
  const auto come_and_go = [&](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (std::uint64_t bytes = 1;; ++bytes) {  // a row of before stays if its lock was not free
      const auto ledger = join();
      if (!hold(*ledger, Bytes(bytes)).is_ok()) continue;  // the lock was not free
      if (random() % 2 == 0) remove_ended();
      std::size_t found = 0;
      for (const LedgerRow& row : rows()) {
        const bool own = row.pid == ::getpid() && row.of(NodeResource::kHostMemory).held == bytes;
        found += own ? 1U : 0U;
      }
      ++counts.looked;
      if (found != 1) ++counts.lost;
    }
  };
  std::mt19937_64 random(17);
  std::array<pid_t, kPrograms> children{};
  const auto replace = [&](pid_t& child) {
    if (child != 0) {
      ::kill(child, SIGKILL);
      EXPECT_EQ(::waitpid(child, nullptr, 0), child);
    }
    child = start([&, seed = random()] { come_and_go(seed); });
  };
  for (pid_t& child : children) replace(child);
  for (int round = 0; round < 100 || counts.looked < 500; ++round) {
    ::usleep(static_cast<useconds_t>(random() % 3000));
    replace(children[random() % kPrograms]);
    if (round % 10 != 0) continue;
    for (pid_t& child : children) replace(child);  // most of them join what is just being removed
    remove_ended();
  }
  for (const pid_t child : children) {
    ::kill(child, SIGKILL);
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  }
  EXPECT_EQ(counts.lost, 0U) << "of " << counts.looked;
  remove_ended();
  EXPECT_FALSE(exists());
  ::munmap(page, sizeof(Counts));
}

}  // namespace
}  // namespace tessera
