// Several programs on one machine: processes with an allocator each, which share host memory through a ledger.
//
// What is really pinned is counted where it is opened, in one counter for all processes, so that no moment is missed.
// The devices and the memory have no contents: the bookkeeping of gigabytes needs neither.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <thread>

#include <fmt/format.h>

#include "api/allocator.hpp"
#include "node/ledger_view.hpp"
#include "program_run.hpp"
#include "sim/machine_builder.hpp"
#include "sim/sim_driver.hpp"

namespace tessera {
namespace {

constexpr Bytes kBudget = 2_GiB;  // of all programs
constexpr Bytes kBlock = 8_MiB;
constexpr std::size_t kMostBlocks = 96;
constexpr std::size_t kPrograms = 8;

// In memory that all processes share.
struct Counters {
  std::atomic<std::uint64_t> pinned, most_pinned;
  struct Program {
    std::atomic<std::uint64_t> pinned, most_pinned, rounds, refusals;
  };
  std::array<Program, kPrograms + 1> programs;
};

void raise_to(std::atomic<std::uint64_t>& most, std::uint64_t value) {
  for (std::uint64_t known = most; known < value && !most.compare_exchange_weak(known, value);) {
  }
}

// Host memory without contents, counted.
class CountedPages final : public HostPages {
 public:
  CountedPages(Counters& all, Counters::Program& own) : all_(all), own_(own) {}
  bool open(void*, Bytes bytes) override {
    raise_to(all_.most_pinned, all_.pinned += bytes.value());
    raise_to(own_.most_pinned, own_.pinned += bytes.value());
    return true;
  }
  void close(void*, Bytes bytes) override {
    all_.pinned -= bytes.value();
    own_.pinned -= bytes.value();
  }

 private:
  Counters& all_;
  Counters::Program& own_;
};

class SeveralPrograms : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "no /dev/shm";
    void* const page = ::mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    counters_ = new (page) Counters{};
  }
  ~SeveralPrograms() override {
    for (const pid_t child : children_) end(child);
    std::filesystem::remove(fmt::format("/dev/shm/tessera-{}/{}", ::geteuid(), ledger_file_name(name_)));
    if (counters_ != nullptr) ::munmap(counters_, sizeof(Counters));
  }

  Options options() const {
    Options options;
    options.node = name_;
    options.node_host_memory = kBudget;
    options.device_memory = Bytes(64_MiB);
    options.log_level = "quiet";
    return options;
  }

  // A program that allocates and uses more than its device holds, frees it, and begins again, until it is killed. It
  // needs host memory for 704 MiB at most.
  void run(std::size_t index) {
    SteadyClock clock;
    Counters::Program& own = counters_->programs[index];
    CountedPages pages(*counters_, own);
    auto driver = std::make_unique<SimDriver>(sim_options({.device = 64_MiB}), clock);
    auto file = FileTier::open("", Bytes()).take();
    auto made = Allocator::create(Foundations{clock, std::move(driver), std::move(file), pages}, options());
    if (!made.is_ok()) ::_exit(EXIT_FAILURE);
    Allocator& allocator = *made.value();
    std::mt19937_64 random(index);
    for (;; ++own.rounds) {
      std::vector<Address> blocks;
      const std::size_t wanted = own.rounds == 0 ? kMostBlocks : 1 + random() % kMostBlocks;
      while (blocks.size() < wanted) {
        const auto block = allocator.allocate(DeviceId(), kBlock, StreamId());
        if (!block.is_ok() && block.status().code() != Code::kOutOfMemory) ::_exit(EXIT_FAILURE);
        if (!block.is_ok()) {
          ++own.refusals;
          break;
        }
        blocks.push_back(block.value());
        AnnouncedUse use;
        if (!allocator.uses().begin({&block.value(), 1}, StreamId(), Access::kWrite, Use::Kind::kGate, "", use).is_ok())
          break;
        allocator.uses().end(use);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      for (const Address block : blocks) {
        if (!allocator.free(block, StreamId()).is_ok()) ::_exit(EXIT_FAILURE);
      }
    }
  }
  pid_t start(std::size_t index) {
    const pid_t child = ::fork();
    if (child == 0) run(index);
    EXPECT_GT(child, 0);
    children_.push_back(child);
    return child;
  }
  void end(pid_t child) {
    ::kill(child, SIGKILL);
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  }
  // Waits until it holds, for as long as the test may take, while all children run. What they hold by the ledger is
  // checked meanwhile.
  void wait_for(const std::function<bool()>& holds) {
    while (!holds()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      EXPECT_LE(in_ledger(), kBudget);
      int state = 0;
      for (const pid_t child : children_) ASSERT_EQ(::waitpid(child, &state, WNOHANG), 0) << "a program has ended";
    }
  }
  Bytes in_ledger() {
    const auto file = open_ledger_file({"/dev/shm"}, name_).take();
    std::vector<std::byte> bytes(kLedgerBytes);
    Bytes sum;
    if (!file->lock(std::chrono::seconds(60)).is_ok()) return sum;
    const auto size = file->read(bytes);
    file->unlock();
    for (std::size_t i = 0; size.is_ok() && i < kLedgerRows; ++i) {
      const auto row = read_row(std::span(bytes).first(size.value()), i);
      if (row) sum += Bytes(row->of(NodeResource::kHostMemory).held);
    }
    return sum;
  }
  std::uint64_t fewest_rounds(std::size_t programs) const {
    std::uint64_t fewest = ~std::uint64_t{0};
    for (std::size_t i = 0; i < programs; ++i) fewest = std::min<std::uint64_t>(fewest, counters_->programs[i].rounds);
    return fewest;
  }

  const std::string name_ = fmt::format("several-programs-test-{}", ::getpid());
  std::vector<pid_t> children_;
  Counters* counters_ = nullptr;
  SteadyClock clock_;
};

TEST_F(SeveralPrograms, NeverPinMoreThanTheBudgetTogether) {
  for (std::size_t i = 0; i < kPrograms; ++i) start(i);
  wait_for([&] { return fewest_rounds(kPrograms) >= 2; });
  EXPECT_LE(Bytes(counters_->most_pinned), kBudget);
  EXPECT_GT(Bytes(counters_->most_pinned), kBudget / 2) << "they were short of it";
}

TEST_F(SeveralPrograms, ALateOneGetsItsShareWhileTheOthersRunOn) {
  for (std::size_t i = 0; i < kPrograms; ++i) start(i);
  wait_for([&] { return fewest_rounds(kPrograms) >= 1; });
  start(kPrograms);
  // Its share, but for its staging reserve and the pieces to which grants and chunks are rounded.
  const Bytes share = kBudget / (kPrograms + 1) - 64_MiB - 64_MiB;
  wait_for([&] { return counters_->programs[kPrograms].most_pinned >= share.value(); });
  const std::uint64_t rounds = fewest_rounds(kPrograms);
  wait_for([&] { return fewest_rounds(kPrograms) > rounds; });  // the others run on
  EXPECT_LE(Bytes(counters_->most_pinned), kBudget);
}

TEST_F(SeveralPrograms, WhatAKilledProgramHeldIsFree) {
  const pid_t first = start(0);
  wait_for([&] { return counters_->programs[0].rounds >= 1; });
  end(first);
  children_.clear();
  const std::uint64_t left = counters_->programs[0].pinned;  // the counter does not know that it has ended
  EXPECT_GT(left, 0U);
  counters_->pinned -= left;
  for (std::size_t i = 1; i <= 2; ++i) start(i);
  wait_for([&] {
    return counters_->programs[1].most_pinned >= 512_MiB / 1_B && counters_->programs[2].most_pinned >= 512_MiB / 1_B;
  });
  EXPECT_LE(Bytes(counters_->most_pinned), kBudget);
}

// Unmodified programs under the preload library, on the software device.
class PreloadedPrograms : public SeveralPrograms {
 protected:
  programs::Outcome run_program() const { return run_program(name_); }
  static programs::Outcome run_program(const std::string& node) {
    return programs::run_preloaded(
        "./host_memory answers",
        {{"TESSERA_NODE", node}, {"TESSERA_NODE_HOST_MEMORY", "256MiB"}, {"TESSERA_SOFTWARE_MEMORY", "256MiB"}});
  }
  std::string path() const { return fmt::format("/dev/shm/tessera-{}/{}", ::geteuid(), ledger_file_name(name_)); }
};

TEST_F(PreloadedPrograms, JoinTheLedgerAndLeaveNothingInUse) {
  auto other = std::make_unique<Ledger>(open_ledger_file({"/dev/shm"}, name_).take(), clock_,
                                        Ledger::Self{this_process()}, NodeBudgets{});
  ASSERT_TRUE(other->transact([](Books&) {}).is_ok());
  const programs::Outcome ran = run_program();
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.message, "");
  NodeBudgets budgets{};
  std::size_t rows = 0;
  ASSERT_TRUE(other
                  ->transact([&](Books& books) {
                    rows = books.rows.size();
                    budgets[0] = books.header.budget(NodeResource::kHostMemory);
                  })
                  .is_ok());
  EXPECT_EQ(budgets[0], 256_MiB) << "it has been there";
  EXPECT_EQ(rows, 1U);
  other.reset();
  EXPECT_FALSE(std::filesystem::exists(path()));
}

// A program holds its memory until its process is gone, so its row is there for longer, and the next one removes it.
TEST_F(PreloadedPrograms, RemoveTheLedgersOfThoseThatHaveEnded) {
  const std::string next = name_ + "-next";
  const auto path_of = [](const std::string& name) {
    return fmt::format("/dev/shm/tessera-{}/{}", ::geteuid(), ledger_file_name(name));
  };
  EXPECT_EQ(run_program().exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(path_of(name_)));
  EXPECT_EQ(run_program(next).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(path_of(name_)));
  EXPECT_TRUE(view_ledger(*open_ledger_file({"/dev/shm"}, next).take()).take().rows.empty());
  EXPECT_FALSE(std::filesystem::exists(path_of(next)));
}

TEST_F(PreloadedPrograms, ADamagedLedgerIsALineAndNothingElse) {
  const programs::Outcome whole = run_program();
  std::ofstream(path()) << "damaged";
  std::filesystem::permissions(path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  const programs::Outcome ran = run_program();
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.output, whole.output);
  EXPECT_NE(ran.message.find("memory is not shared with other programs: the file is not a ledger"), std::string::npos)
      << ran.message;
  EXPECT_EQ(std::count(ran.message.begin(), ran.message.end(), '\n'), 1) << ran.message;
}

}  // namespace
}  // namespace tessera
