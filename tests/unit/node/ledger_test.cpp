#include "node/ledger.hpp"

#include <sys/mman.h>
#include <sys/wait.h>

#include <atomic>
#include <fstream>
#include <random>

#include "hand_clock.hpp"
#include "ledger_fixture.hpp"
#include "node/ledger_view.hpp"

namespace tessera {
namespace {

constexpr auto kHost = NodeResource::kHostMemory;

TEST_F(LedgerTest, EachProgramHasARowAndSeesThoseOfTheOthers) {
  const auto one = join(1), other = join(3);
  EXPECT_FALSE(one->has_joined());
  ASSERT_TRUE(hold(*one, Bytes(300)).is_ok());
  EXPECT_TRUE(one->has_joined());
  ASSERT_TRUE(hold(*other, Bytes(200)).is_ok());
  const Books books = books_of(*one);
  ASSERT_EQ(books.rows.size(), 2U);
  EXPECT_EQ(books.held(kHost), Bytes(500));
  EXPECT_EQ(books.rows[books.own].of(kHost).held, 300U);
  EXPECT_EQ(books.entitlement(kHost).free, Bytes(500));
  EXPECT_STREQ(books.rows[books.own].name.data(), "a test");
}

TEST_F(LedgerTest, ProgramsOfAJobHaveOneShareTogether) {
  const std::string long_name(2 * kRowJob, 'x');
  const auto first = join_job(long_name + "1"), second = join_job(long_name + "1"), other = join_job(long_name + "2"),
             alone = join_job(""), alone_too = join_job("");
  const std::vector<Ledger*> all{first.get(), second.get(), other.get(), alone.get(), alone_too.get()};
  for (Ledger* const each : all) {
    ASSERT_TRUE(each->transact([](Books& books) { books.own_row().of(kHost) = {0, 1000}; }).is_ok());
  }
  const std::vector<std::uint64_t> expected{125, 125, 250, 250, 250};
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(books_of(*all[i]).entitlement(kHost).share, Bytes(expected[i])) << i;
  }
  const auto file = open();
  const auto view = view_ledger(*file);
  ASSERT_TRUE(view.is_ok());
  Bytes shares;
  for (std::size_t i = 0; i < all.size(); ++i) shares += view.value().entitlement(kHost, i).share;
  EXPECT_EQ(shares, Bytes(1000)) << "tools see the same";
  const auto name = view.value().rows[0].job_name;
  EXPECT_EQ(std::string(name.begin(), name.end()), long_name.substr(0, kRowJob));
}

TEST_F(LedgerTest, ARowEndsWithItsProgram) {
  const auto one = join();
  {
    const auto other = join();
    ASSERT_TRUE(hold(*one, Bytes(1)).is_ok());
    ASSERT_TRUE(hold(*other, Bytes(1)).is_ok());
    EXPECT_EQ(rows().size(), 2U);
  }
  EXPECT_EQ(rows().size(), 1U);
}

TEST_F(LedgerTest, TheFirstProgramSetsTheBudgets) {
  auto one = join(1, {Bytes(100), Bytes(10)});
  EXPECT_EQ(books_of(*one).header.budget(kHost), Bytes(100));
  auto other = join(1, {Bytes(999), Bytes(99)});
  EXPECT_EQ(books_of(*other).header.budget(kHost), Bytes(100));
  one.reset();
  EXPECT_EQ(books_of(*other).header.budget(kHost), Bytes(100)) << "one of them still runs";
  other = join(1, {Bytes(999), Bytes(99)});
  EXPECT_EQ(books_of(*other).header.budget(kHost), Bytes(999));
  EXPECT_EQ(books_of(*other).header.budget(NodeResource::kFile), Bytes(99));
}

TEST_F(LedgerTest, TheRowOfAKilledProcessIsSwept) {
  const auto own = join();
  ASSERT_TRUE(hold(*own, Bytes(10)).is_ok());
  const pid_t child = start([&] {
    const auto ledger = join();
    if (hold(*ledger, Bytes(400)).is_ok()) ::raise(SIGKILL);
  });
  int state = 0;
  ASSERT_EQ(::waitpid(child, &state, 0), child);
  ASSERT_TRUE(WIFSIGNALED(state));
  EXPECT_EQ(rows().size(), 2U);
  EXPECT_EQ(books_of(*own).held(kHost), Bytes(10));
  EXPECT_EQ(rows().size(), 1U);
}

// A child is ended before each call that it makes on the file, from the first to the last. Whatever it had done, its
// row never shows less than it holds, and afterwards the books add up without it.
TEST_F(LedgerTest, MayBeKilledBeforeEveryStepOfEveryOperation) {
  const auto own = join();
  ASSERT_TRUE(hold(*own, Bytes(10)).is_ok());
  void* const page =
      ::mmap(nullptr, sizeof(std::atomic<std::uint64_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  auto& holds = *new (page) std::atomic<std::uint64_t>;
  bool ended = false;
  int last = 0;
  for (; !ended && last < 200; ++last) {
    holds = 0;
    const pid_t child = start([&] {
      const auto ledger = join(std::make_unique<KilledLedgerFile>(open(), last + 1));
      for (const std::uint64_t bytes : {100U, 300U, 200U, 0U, 50U}) {
        if (bytes < holds) holds = bytes;  // it is returned first
        if (hold(*ledger, Bytes(bytes)).is_ok()) holds = bytes;
      }
      holds = 0;
    });
    int state = 0;
    ASSERT_EQ(::waitpid(child, &state, 0), child);
    ended = WIFEXITED(state);
    ASSERT_TRUE(ended || (WIFSIGNALED(state) && WTERMSIG(state) == SIGKILL));
    Bytes in_file;
    for (const LedgerRow& row : rows()) {
      if (row.pid == child) in_file += Bytes(row.of(kHost).held);
    }
    ASSERT_GE(in_file, Bytes(holds)) << "before step " << last + 1;
    const Books books = books_of(*own);
    ASSERT_EQ(books.rows.size(), 1U) << "before step " << last + 1;
    ASSERT_EQ(books.held(kHost), Bytes(10));
  }
  EXPECT_TRUE(ended);
  EXPECT_GT(last, 20);
  ::munmap(page, sizeof(holds));
}

TEST_F(LedgerTest, MayBeKilledAtAnyMoment) {
  const auto own = join();
  ASSERT_TRUE(hold(*own, Bytes(10)).is_ok());
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    const pid_t child = start([&, seed = random()] {
      std::mt19937_64 own_random(seed);
      for (;;) {
        const auto ledger = join();
        for (int i = 0; i < 20; ++i) (void)hold(*ledger, Bytes(own_random() % 900)).is_ok();
      }
    });
    ::usleep(static_cast<useconds_t>(random() % 3000));
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    const Books books = books_of(*own);
    ASSERT_EQ(books.rows.size(), 1U) << round;
    ASSERT_EQ(books.held(kHost), Bytes(10));
  }
}

TEST_F(LedgerTest, AStoppedProcessKeepsItsRow) {
  const auto own = join();
  const pid_t child = start([&] {
    const auto ledger = join();
    if (hold(*ledger, Bytes(400)).is_ok()) ::raise(SIGSTOP);
  });
  int state = 0;
  ASSERT_EQ(::waitpid(child, &state, WUNTRACED), child);
  EXPECT_EQ(books_of(*own).held(kHost), Bytes(400));
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, &state, 0), child);
}

TEST_F(LedgerTest, AChildOfForkLeavesTheRowOfItsParentAlone) {
  const auto ledger = join();
  ASSERT_TRUE(hold(*ledger, Bytes(10)).is_ok());
  const pid_t child = start([&] { ::_exit(hold(*ledger, Bytes(99)).code() == Code::kNotSupported ? 0 : 1); });
  int state = 0;
  ASSERT_EQ(::waitpid(child, &state, 0), child);
  EXPECT_EQ(WEXITSTATUS(state), 0);
  EXPECT_EQ(books_of(*ledger).held(kHost), Bytes(10));
}

TEST_F(LedgerTest, ARowOfAnotherNamespaceIsSweptWhenItWasNotSeenForLong) {
  HandClock clock(1);
  const ProcessId elsewhere{4711, 5, this_process().pid_namespace + 1};
  NodeBudgets budgets{Bytes(1000), Bytes(500)};
  auto foreign =
      std::make_unique<Ledger>(open(), clock, Ledger::Self{{::getpid(), 5, elsewhere.pid_namespace}}, budgets);
  ASSERT_TRUE(hold(*foreign, Bytes(400)).is_ok());
  Ledger own(open(), clock, Ledger::Self{this_process()}, budgets);
  clock.set(Ledger::kUnseen.value());
  EXPECT_EQ(books_of(own).held(kHost), Bytes(400));
  clock.set(Ledger::kUnseen.value() + 2);
  EXPECT_EQ(books_of(own).held(kHost), Bytes());
  EXPECT_EQ(books_of(*foreign).held(kHost), Bytes(400)) << "it was there all the time, and writes its row again";
}

TEST_F(LedgerTest, ARemovedFileIsMadeAgainWithWhatIsHeld) {
  const auto one = join(), other = join();
  ASSERT_TRUE(hold(*one, Bytes(300)).is_ok());
  ASSERT_TRUE(hold(*other, Bytes(200)).is_ok());
  std::filesystem::remove(path());
  EXPECT_EQ(books_of(*one).held(kHost), Bytes(300));
  EXPECT_EQ(books_of(*other).held(kHost), Bytes(500));
}

TEST_F(LedgerTest, AFileThatIsNoLedgerIsLeftAlone) {
  std::filesystem::create_directories(std::filesystem::path(path()).parent_path());
  std::filesystem::permissions(std::filesystem::path(path()).parent_path(), std::filesystem::perms::owner_all);
  std::ofstream(path()) << "the notes of another program";
  std::filesystem::permissions(path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  const auto ledger = join();
  EXPECT_EQ(hold(*ledger, Bytes(1)).code(), Code::kDataLoss);
  EXPECT_FALSE(ledger->has_joined());
  std::string text;
  std::getline(std::ifstream(path()), text);
  EXPECT_EQ(text, "the notes of another program");
}

TEST_F(LedgerTest, AFileOfAnotherVersionIsNotInTheWay) {
  const std::filesystem::path old = std::filesystem::path(path()).parent_path() / kName;
  const auto ledger = join();
  ASSERT_TRUE(hold(*ledger, Bytes(1)).is_ok());
  std::ofstream(old) << "a ledger of version 1";
  EXPECT_EQ(books_of(*join()).held(kHost), Bytes(1));
}

TEST_F(LedgerTest, AWeightThatAnotherProcessWroteIsTakenOver) {
  const auto ledger = join(3);
  ASSERT_TRUE(hold(*ledger, Bytes(1)).is_ok());
  LedgerRow row = rows().front();
  row.weight = 7;
  seal(row);
  const auto file = open();
  ASSERT_TRUE(file->lock(std::chrono::seconds(60)).is_ok());
  ASSERT_TRUE(file->write(row_offset(0), std::as_bytes(std::span(&row, 1))).is_ok());
  file->unlock();
  ASSERT_TRUE(hold(*ledger, Bytes(2)).is_ok());
  EXPECT_EQ(rows().front().weight, 7U);
  std::filesystem::remove(path());
  ASSERT_TRUE(hold(*ledger, Bytes(3)).is_ok());
  EXPECT_EQ(rows().front().weight, 7U) << "also where the file was made again";
}

// What a program has written cannot come back, however it ends.
TEST_F(LedgerTest, WritesOfProgramsThatHaveEndedStayCounted) {
  constexpr auto kWrites = NodeResource::kFileWrites;
  const NodeBudgets budgets{Bytes(1000), Bytes(500), Bytes(), Bytes(100)};
  const auto write = [&](Ledger& ledger, std::uint64_t bytes) {
    return ledger.transact([&](Books& books) { books.own_row().of(kWrites) = {bytes, bytes}; });
  };
  auto own = join(1, budgets);
  ASSERT_TRUE(write(*own, 10).is_ok());
  {
    const auto other = join(1, budgets);
    ASSERT_TRUE(write(*other, 20).is_ok());
  }
  EXPECT_EQ(books_of(*own).header.budget(kWrites), Bytes(80));
  const pid_t child = start([&] {
    const auto ledger = join(1, budgets);
    if (write(*ledger, 30).is_ok()) ::raise(SIGKILL);
  });
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(books_of(*own).header.budget(kWrites), Bytes(50));
  EXPECT_EQ(books_of(*own).entitlement(kWrites).free, Bytes(40));
  own.reset();
  own = join(1, budgets);
  EXPECT_EQ(books_of(*own).header.budget(kWrites), Bytes(100)) << "all have ended: it begins anew";
}

// Any bytes in the places of others: the own row is what this program wrote, and its share stays within the budget.
TEST_F(LedgerTest, HostileRowsCostTheirAuthorAtMost) {
  std::mt19937_64 random(11);
  const auto ledger = join(1, {Bytes(1000), Bytes(500), Bytes(), Bytes(100)});
  ASSERT_TRUE(hold(*ledger, Bytes(7)).is_ok());
  const ProcessId self = this_process();
  int believed = 0;  // rounds with a row of others that is possible
  for (int round = 0; round < 2000; ++round) {
    const auto file = open();
    ASSERT_TRUE(file->lock(std::chrono::seconds(60)).is_ok());
    for (std::uint64_t rows = random() % 6; rows > 0; --rows) {
      LedgerRow row;
      auto bytes = std::as_writable_bytes(std::span(&row, 1));
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
      // Half of them look like rows of this process, with values at the edges of what is possible.
      if (random() % 2 == 0) {
        row.pid = self.pid, row.started = self.started, row.pid_namespace = self.pid_namespace;
        row.weight = static_cast<std::uint32_t>(random() % (kMostWeight + 2));
        row.name = {};
        row.job_name = {};
        row.job = random() % 3 == 0 ? random() : 0;
        for (std::uint64_t* const bytes_of : {&row.budget, &row.ceiling, &row.limit, &row.limit_set, &row.ahead}) {
          *bytes_of = random() >> (random() % 64);
        }
        for (LedgerAmount& amount : row.amounts) {
          amount = {random() >> (random() % 64), random() >> (random() % 64)};
        }
      }
      if (random() % 4 != 0) seal(row);
      const std::size_t place = 1 + random() % (kLedgerRows - 1);
      const std::size_t size = random() % 2 == 0 ? bytes.size() : 1 + random() % bytes.size();
      ASSERT_TRUE(file->write(row_offset(place), bytes.first(size)).is_ok());
    }
    file->unlock();
    const Books books = books_of(*ledger);
    if (books.rows.size() > 1) ++believed;
    ASSERT_EQ(books.rows[books.own].of(kHost).held, 7U);
    ASSERT_LE(books.rows.size(), kLedgerRows);
    for (const NodeResource resource : {kHost, NodeResource::kFile, NodeResource::kFileWrites}) {
      const Entitlement own = books.entitlement(resource);
      ASSERT_LE(own.share, books.header.budget(resource));
      ASSERT_LE(own.free, books.header.budget(resource));
      ASSERT_LE(own.may_take(Bytes(7)), books.header.budget(resource));
    }
  }
  EXPECT_GT(believed, 100);
}

TEST_F(LedgerTest, WithoutAFreeRowItSaysSo) {
  std::vector<std::unique_ptr<Ledger>> all;
  for (std::size_t i = 0; i < kLedgerRows; ++i) {
    all.push_back(join());
    ASSERT_TRUE(hold(*all.back(), Bytes(1)).is_ok());
  }
  const auto one_more = join();
  EXPECT_EQ(hold(*one_more, Bytes(1)).code(), Code::kOutOfMemory);
  all.pop_back();
  EXPECT_TRUE(hold(*one_more, Bytes(1)).is_ok());
}

// Damages the file at random while programs use it. No share exceeds the budget, no call crashes, and once a row
// is damaged, its program writes it again. A damaged header is an error.
TEST_F(LedgerTest, DamageChangesNoShare) {
  std::mt19937_64 random(9);
  for (int round = 0; round < 300; ++round) {
    std::filesystem::remove(path());
    const auto one = join(), other = join();
    ASSERT_TRUE(hold(*one, Bytes(300)).is_ok());
    ASSERT_TRUE(hold(*other, Bytes(200)).is_ok());
    const bool in_rows = round % 3 != 0;
    {
      std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
      for (int i = 0; i < 200; ++i) {
        const std::uint64_t at =
            in_rows ? kLedgerPage + random() % (kLedgerBytes - kLedgerPage) : random() % kLedgerBytes;
        file.seekp(static_cast<std::streamoff>(random() % 2 == 0 && in_rows ? kLedgerPage + random() % 2048 : at));
        file.put(static_cast<char>(random()));
      }
    }
    for (Ledger* const ledger : {one.get(), other.get()}) {
      Books books;
      const Status seen = ledger->transact([&](Books& all) { books = all; });
      if (!seen.is_ok()) {
        ASSERT_FALSE(in_rows) << seen.to_string();
        ASSERT_EQ(seen.code(), Code::kDataLoss);
        continue;
      }
      ASSERT_LE(books.entitlement(kHost).share, Bytes(1000));
      ASSERT_EQ(books.own_row().of(kHost).held, ledger == one.get() ? 300U : 200U);
    }
    if (!in_rows) continue;
    ASSERT_EQ(books_of(*one).held(kHost), Bytes(500));
  }
}

TEST_F(LedgerTest, AFileMayBeCutWhileItIsUsed) {
  const auto one = join();
  ASSERT_TRUE(hold(*one, Bytes(300)).is_ok());
  std::filesystem::resize_file(path(), 0);
  EXPECT_EQ(books_of(*one).held(kHost), Bytes(300));
  std::filesystem::resize_file(path(), 20);
  EXPECT_EQ(one->transact([](Books&) {}).code(), Code::kDataLoss);
}

}  // namespace
}  // namespace tessera
