// Several programs on one machine: processes with an allocator each, which share host memory or spill files through a
// ledger.
//
// What is really pinned is counted where it is opened, and what a file occupies where it is written, in one counter for
// all processes, so that no moment is missed. The devices, the memory and the files have no contents: the bookkeeping
// of gigabytes needs none.
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

#include <fmt/core.h>

#include "api/allocator.hpp"
#include "node/ledger_view.hpp"
#include "program_run.hpp"
#include "sim/machine_builder.hpp"
#include "sim/sim_driver.hpp"
#include "sim/virtual_file_io.hpp"
#include "tier/file_io.hpp"

namespace tessera {
namespace {

constexpr Bytes kBudget = 2_GiB;  // of all programs
constexpr Bytes kBlock = 8_MiB;
constexpr std::size_t kMostBlocks = 96;
constexpr std::size_t kPrograms = 8;
constexpr Bytes kLeast = 64_MiB;  // of a program that shares only files, in host memory

// Of one resource, in memory that all processes share.
struct Counters {
  std::atomic<std::uint64_t> used, most_used;
  struct Program {
    std::atomic<std::uint64_t> used, most_used, rounds, refusals;
  };
  std::array<Program, kPrograms + 1> programs;
};

void raise_to(std::atomic<std::uint64_t>& most, std::uint64_t value) {
  for (std::uint64_t known = most; known < value && !most.compare_exchange_weak(known, value);) {
  }
}

// What one program uses, counted for it and for all.
class Usage {
 public:
  Usage(Counters& all, Counters::Program& own) : all_(all), own_(own) {}
  void take(Bytes bytes) {
    raise_to(all_.most_used, all_.used += bytes.value());
    raise_to(own_.most_used, own_.used += bytes.value());
  }
  void give(Bytes bytes) {
    all_.used -= bytes.value();
    own_.used -= bytes.value();
  }

 private:
  Counters& all_;
  Counters::Program& own_;
};

// Host memory without contents. `usage` may be null.
class CountedPages final : public HostPages {
 public:
  explicit CountedPages(Usage* usage) : usage_(usage) {}
  bool open(void*, Bytes bytes) override {
    if (usage_ != nullptr) usage_->take(bytes);
    return true;
  }
  void close(void*, Bytes bytes) override {
    if (usage_ != nullptr) usage_->give(bytes);
  }

 private:
  Usage* const usage_;
};

// A file without contents, which occupies what was written and not discarded. Transfers end at once.
class CountedFile final : public FileIo {
 public:
  CountedFile(Usage& usage, Bytes capacity) : usage_(usage), occupied_(capacity / kBasePage) {}
  const char* name() const override { return "counted"; }
  Result<IoTicket> read(void*, Bytes, Bytes) override { return ticket(); }
  Result<IoTicket> write(const void*, Bytes bytes, Bytes offset) override {
    mark(offset, bytes, true);
    return ticket();
  }
  Status poll(IoTicket) override { return {}; }
  Status wait(IoTicket) override { return {}; }
  Status discard(Bytes offset, Bytes bytes) override {
    mark(offset, bytes, false);
    return {};
  }

 private:
  IoTicket ticket() { return IoTicket(++tickets_); }
  void mark(Bytes offset, Bytes bytes, bool occupied) {
    const MutexLock lock(mutex_);
    for (std::uint64_t page = offset / kBasePage; page < (offset + bytes) / kBasePage; ++page) {
      if (occupied_[page] == occupied) continue;
      occupied_[page] = occupied;
      occupied ? usage_.take(kBasePage) : usage_.give(kBasePage);
    }
  }

  Usage& usage_;
  std::atomic<std::uint64_t> tickets_{0};
  Mutex mutex_{LockRank::kSimulation};
  std::vector<bool> occupied_ GUARDED_BY(mutex_);
};

class ProgramsTest : public ::testing::Test {
 protected:
  explicit ProgramsTest(NodeResource resource) : resource_(resource) {}
  void SetUp() override {
    if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "no /dev/shm";
    // No budget of files is larger than what is free there, though nothing is written.
    if (shares_files() && std::filesystem::space(::testing::TempDir()).available < kBudget * 2 / 1_B) {
      GTEST_SKIP() << "less than " << kBudget * 2 / 1_GiB << " GiB are free in " << ::testing::TempDir();
    }
    void* const page = ::mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    counters_ = new (page) Counters{};
  }
  ~ProgramsTest() override {
    for (const pid_t child : children_) end(child);
    std::filesystem::remove(fmt::format("/dev/shm/tessera-{}/{}", ::geteuid(), ledger_file_name(name_)));
    if (counters_ != nullptr) ::munmap(counters_, sizeof(Counters));
  }

  bool shares_files() const { return resource_ == NodeResource::kFile; }
  Options options() const {
    Options options;
    options.node = name_;
    if (shares_files()) {
      options.host_memory = kLeast;
      options.file_dir = ::testing::TempDir();
      options.node_file_memory = kBudget;
    } else {
      options.node_host_memory = kBudget;
    }
    options.device_memory = Bytes(64_MiB);
    options.log_level = "quiet";
    return options;
  }

  // A program that allocates and uses more than its device holds, frees it, and begins again, until it is killed. It
  // needs 704 MiB at most in host memory, or in the host and its file.
  void run(std::size_t index) {
    SteadyClock clock;
    Counters::Program& own = counters_->programs[index];
    Usage usage(*counters_, own);
    CountedPages pages(shares_files() ? nullptr : &usage);
    auto driver = std::make_unique<SimDriver>(sim_options({.device = 64_MiB}), clock);
    std::vector<FileSpace> files;
    if (shares_files()) files.push_back({::testing::TempDir(), kBudget, std::make_unique<CountedFile>(usage, kBudget)});
    auto file = std::make_unique<FileTier>(std::move(files), kNoWriteBudget, checksum_of_nothing);
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
      if (row) sum += Bytes(row->of(resource_).held);
    }
    return sum;
  }
  std::uint64_t fewest_rounds(std::size_t programs) const {
    std::uint64_t fewest = ~std::uint64_t{0};
    for (std::size_t i = 0; i < programs; ++i) fewest = std::min<std::uint64_t>(fewest, counters_->programs[i].rounds);
    return fewest;
  }

  const NodeResource resource_;
  const std::string name_ = fmt::format("several-programs-test-{}", ::getpid());
  std::vector<pid_t> children_;
  Counters* counters_ = nullptr;
  SteadyClock clock_;
};

class SeveralPrograms : public ProgramsTest, public ::testing::WithParamInterface<NodeResource> {
 protected:
  SeveralPrograms() : ProgramsTest(GetParam()) {}
};

INSTANTIATE_TEST_SUITE_P(Of, SeveralPrograms, ::testing::Values(NodeResource::kHostMemory, NodeResource::kFile),
                         [](const auto& of) { return of.param == NodeResource::kFile ? "Files" : "HostMemory"; });

TEST_P(SeveralPrograms, NeverUseMoreThanTheBudgetTogether) {
  for (std::size_t i = 0; i < kPrograms; ++i) start(i);
  wait_for([&] { return fewest_rounds(kPrograms) >= 2; });
  EXPECT_LE(Bytes(counters_->most_used), kBudget);
  EXPECT_GT(Bytes(counters_->most_used), kBudget / 2) << "they were short of it";
}

TEST_P(SeveralPrograms, ALateOneGetsItsShareWhileTheOthersRunOn) {
  for (std::size_t i = 0; i < kPrograms; ++i) start(i);
  wait_for([&] { return fewest_rounds(kPrograms) >= 1; });
  start(kPrograms);
  // Its share, but for its staging reserve and the pieces to which grants and chunks are rounded.
  const Bytes share = kBudget / (kPrograms + 1) - 64_MiB - 64_MiB;
  wait_for([&] { return counters_->programs[kPrograms].most_used >= share.value(); });
  const std::uint64_t rounds = fewest_rounds(kPrograms);
  wait_for([&] { return fewest_rounds(kPrograms) > rounds; });  // the others run on
  EXPECT_LE(Bytes(counters_->most_used), kBudget);
}

class KilledProgram : public ProgramsTest {
 protected:
  KilledProgram() : ProgramsTest(NodeResource::kHostMemory) {}
};

TEST_F(KilledProgram, LeavesWhatItHeldToTheOthers) {
  const pid_t first = start(0);
  wait_for([&] { return counters_->programs[0].rounds >= 1; });
  end(first);
  children_.clear();
  const std::uint64_t left = counters_->programs[0].used;  // the counter does not know that it has ended
  EXPECT_GT(left, 0U);
  counters_->used -= left;
  for (std::size_t i = 1; i <= 2; ++i) start(i);
  wait_for([&] {
    return counters_->programs[1].most_used >= 512_MiB / 1_B && counters_->programs[2].most_used >= 512_MiB / 1_B;
  });
  EXPECT_LE(Bytes(counters_->most_used), kBudget);
}

// Unmodified programs under the preload library, on the software device.
class PreloadedPrograms : public ProgramsTest {
 protected:
  PreloadedPrograms() : ProgramsTest(NodeResource::kHostMemory) {}
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

// A program holds its memory until its process is gone, so its row is there for longer, and the next one that starts
// removes the file: this test's or another's.
TEST_F(PreloadedPrograms, RemoveTheLedgersOfThoseThatHaveEnded) {
  const std::string next = name_ + "-next";
  const auto path_of = [](const std::string& name) {
    return fmt::format("/dev/shm/tessera-{}/{}", ::geteuid(), ledger_file_name(name));
  };
  EXPECT_EQ(run_program().exit_code, 0);
  EXPECT_EQ(run_program(next).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(path_of(name_)));
  const auto left = view_ledger(*open_ledger_file({"/dev/shm"}, next).take());
  if (!left.is_ok()) {  // a program of another test has removed it, and this is a new file
    EXPECT_EQ(left.status().code(), Code::kNotFound) << left.status().to_string();
    std::filesystem::remove(path_of(next));
    return;
  }
  EXPECT_TRUE(left.value().rows.empty());
  EXPECT_FALSE(std::filesystem::exists(path_of(next)));
}

TEST_F(PreloadedPrograms, ADamagedLedgerIsALineAndNothingElse) {
  const programs::Outcome whole = run_program();
  // Renamed when it is whole: a program of another test may remove an empty one.
  std::ofstream(path() + ".new") << "damaged";
  std::filesystem::permissions(path() + ".new",
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::rename(path() + ".new", path());
  const programs::Outcome ran = run_program();
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.output, whole.output);
  EXPECT_NE(ran.message.find("memory is not shared with other programs: the file is not a ledger"), std::string::npos)
      << ran.message;
  EXPECT_EQ(std::count(ran.message.begin(), ran.message.end(), '\n'), 1) << ran.message;
}

}  // namespace
}  // namespace tessera
