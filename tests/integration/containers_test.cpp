// Restrictions of containers and their file systems: a program under Tessera still uses the spill file and computes the
// same, and one line reports the fallback.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "in_child.hpp"
#include "program_run.hpp"
#include "task_limit.hpp"
#include "tier/uring_io.hpp"

namespace tessera::programs {
namespace {

namespace fs = std::filesystem;

const std::string kTraining = "./train --kernels train_kernels.so --steps 3 --layers 8 --width 512 --batch 128";

class Containers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_refuse()) GTEST_SKIP() << "no filters of system calls on this machine";
    ASSERT_NE(losses_of_ample_run(), "");
    folder_ = scratch("spill");
    fs::create_directory(folder_);
  }
  void TearDown() override {
    std::error_code error;
    EXPECT_TRUE(fs::is_empty(folder_, error)) << "something is left in " << folder_;
    fs::remove_all(folder_, error);
  }

  // The losses of a run on a device with room for everything: every other run must compute the same.
  static const std::string& losses_of_ample_run() {
    static const std::string losses = [] {
      const std::string file = scratch("ample");
      EXPECT_EQ(run(kTraining + " --losses " + file).exit_code, 0);
      return contents(file);
    }();
    return losses;
  }

  // Runs on a device too small for it and with little host memory; `wrapper` is a command prefix.
  Outcome train(const std::string& wrapper, Environment more = {}) {
    losses_ = scratch("losses");
    stats_ = scratch("stats.json");
    more.try_emplace("TESSERA_SOFTWARE_MEMORY", "20MiB");
    more.try_emplace("TESSERA_HOST_MEMORY", "4MiB");
    more.try_emplace("TESSERA_FILE_MEMORY", "256MiB");
    more.try_emplace("TESSERA_FILE_DIR", folder_);
    more.try_emplace("TESSERA_STATS", stats_);
    return run_preloaded(wrapper + kTraining + " --losses " + losses_, more);
  }
  // The losses are right, the file was used with `io`, and a single line contains all of `words`, or none was printed.
  void expect_right(const Outcome& outcome, const std::string& io, const std::vector<std::string>& words) {
    ASSERT_EQ(outcome.exit_code, 0) << outcome.message;
    EXPECT_EQ(contents(losses_), losses_of_ample_run());
    const auto stats = nlohmann::json::parse(contents(stats_));
    EXPECT_EQ(stats["tessera"]["file_io"].get<std::string>(), io);
    EXPECT_GT(stats["moves"]["bytes_file_written"].get<std::uint64_t>(), 0u);
    EXPECT_GT(stats["moves"]["bytes_file_read"].get<std::uint64_t>(), 0u);
    EXPECT_EQ(std::ranges::count(outcome.message, '\n'), words.empty() ? 0 : 1) << outcome.message;
    for (const std::string& word : words) {
      EXPECT_NE(outcome.message.find(word), std::string::npos) << word << " in: " << outcome.message;
    }
  }

  // Tests may themselves run in a container.
  static bool has_ring() { return UringIo::open(::testing::TempDir(), 2_MiB).is_ok(); }

  std::string folder_, losses_, stats_;
};

TEST_F(Containers, UsesTheRingWhenNothingIsRefused) {
  if (!has_ring()) GTEST_SKIP() << "no io_uring on this machine";
  expect_right(train(""), "io_uring", {});
}

// EPERM is returned by Docker, containerd and the sysctl, ENOSYS by Podman, ENOMEM by a limit on locked memory.
TEST_F(Containers, UsesThreadsWhenIoUringIsRefused) {
  const std::pair<std::string, std::string> errors[] = {{"EPERM", "Operation not permitted"},
                                                        {"ENOSYS", "Function not implemented"},
                                                        {"ENOMEM", "Cannot allocate memory"},
                                                        {"EINVAL", "Invalid argument"}};
  for (const auto& [name, text] : errors) {
    SCOPED_TRACE(name);
    expect_right(train("./refuse " + name + " io_uring_setup -- "), "threads",
                 {"io_uring_setup: " + text, "using threads for file I/O", "tessera doctor", folder_});
  }
}

TEST_F(Containers, UsesThreadsWhenOnlyAPartOfIoUringIsRefused) {
  if (!has_ring()) GTEST_SKIP() << "no io_uring on this machine";
  for (const std::string call : {"io_uring_enter", "io_uring_register"}) {
    SCOPED_TRACE(call);
    expect_right(train("./refuse EPERM " + call + " -- "), "threads",
                 {call + ": Operation not permitted", "using threads for file I/O"});
  }
}

TEST_F(Containers, WithoutNamelessFilesAFileIsUnlinkedAtOnce) {
  for (const std::string error : {"EOPNOTSUPP", "EISDIR", "EACCES"}) {
    SCOPED_TRACE(error);
    expect_right(train("./refuse " + error + " nameless io_uring_setup -- "), "threads",
                 {"using threads for file I/O"});
  }
}

TEST_F(Containers, ReusesSpaceThatCannotBeFreed) {
  expect_right(train("./refuse EOPNOTSUPP fallocate io_uring_setup -- "), "threads", {"using threads for file I/O"});
}

TEST_F(Containers, WithoutDirectAccessUsesThePageCache) {
  if (!has_ring()) GTEST_SKIP() << "no io_uring on this machine";
  const Outcome outcome = train("./refuse EINVAL direct -- ");
  expect_right(outcome, "io_uring", {"no direct I/O", folder_});
}

// The default of the kernel, and of many containers; the superuser is exempt.
TEST_F(Containers, LittleLockedMemoryIsEnough) {
  const Outcome outcome = train("sh -c 'ulimit -l 64 && exec \"$@\"' sh ");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.message;
  EXPECT_EQ(contents(losses_), losses_of_ample_run());
}

TEST_F(Containers, AnUnusableGivenDirectoryIsNotAdvised) {
  const Outcome outcome = train("./refuse EPERM io_uring_setup -- ", {{"TESSERA_FILE_DIR", "/no/such/folder"}});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.message.find("spill file disabled"), std::string::npos) << outcome.message;
  EXPECT_NE(outcome.message.find("CUDA_ERROR_OUT_OF_MEMORY"), std::string::npos) << outcome.message;
  EXPECT_EQ(outcome.message.find("set --file-dir"), std::string::npos) << outcome.message;
}

// A file system of its own in memory, of so many MiB, in the spill folder; `before` runs in it.
std::string on_a_small_disk(const std::string& folder, int mib, const std::string& before) {
  return "unshare --mount sh -c 'mount -t tmpfs -o size=" + std::to_string(mib) + "m none " + folder + " && " + before +
         "; exec \"$@\"' sh ";
}

TEST_F(Containers, AFullDiskIsNamedWithoutAdvisingGivenOptions) {
  if (run("unshare --mount mount -t tmpfs none " + folder_).exit_code != 0)
    GTEST_SKIP() << "nothing may be mounted here";
  const Outcome at_the_start = train(on_a_small_disk(folder_, 4, "head -c 3M /dev/zero > " + folder_ + "/full"));
  EXPECT_EQ(at_the_start.exit_code, 1);
  EXPECT_NE(at_the_start.message.find("only 1.00 MiB free in " + folder_), std::string::npos) << at_the_start.message;
  EXPECT_NE(at_the_start.message.find("use another --file-dir"), std::string::npos) << at_the_start.message;

  // Both directories have the same 5 MiB, as if another job took half of them later.
  const Outcome later =
      train(on_a_small_disk(folder_, 5, "mkdir " + folder_ + "/a " + folder_ + "/b"),
            {{"TESSERA_FILE_MEMORY", "8MiB"}, {"TESSERA_FILE_DIR", folder_ + "/a:" + folder_ + "/b"}});
  EXPECT_EQ(later.exit_code, 1);
  EXPECT_NE(later.message.find(" free + "), std::string::npos) << later.message;
  EXPECT_NE(later.message.find("use another --file-dir"), std::string::npos) << later.message;
  EXPECT_NE(later.message.find("No space left on device"), std::string::npos) << later.message;
  EXPECT_EQ(later.message.find("give --file-dir DIRECTORY"), std::string::npos) << later.message;
  EXPECT_EQ(later.message.find("raise --file-memory"), std::string::npos) << later.message;
}

TEST_F(Containers, AKilledProgramLeavesNoFile) {
  train("timeout -s KILL 2 ./refuse EOPNOTSUPP nameless -- sh -c 'while :; do \"$@\" > /dev/null; done' sh ");
  EXPECT_TRUE(fs::is_empty(folder_));
}

// Between too few tasks for the software device and enough for everything, kernel workers cannot be created, at first
// or later. Nothing waits forever, and the results are right.
TEST_F(Containers, ATaskLimitCausesNoHangAndNoError) {
  for (const std::string refused : {"", "./refuse EPERM io_uring_setup -- "}) {
    int right = 0;
    for (const int tasks : {4, 5, 6, 7, 8, 10, 14, 20, 28, 40}) {
      SCOPED_TRACE(refused + std::to_string(tasks));
      const TaskLimit limit(tasks);
      if (!limit.usable()) GTEST_SKIP() << "no control group of our own on this machine";
      const Outcome outcome = train("timeout -s KILL 40 " + limit.wrapper() + refused);
      EXPECT_NE(outcome.exit_code, 137) << "it hangs: " << outcome.message;
      if (outcome.exit_code != 0) continue;  // the software device itself has threads
      EXPECT_EQ(contents(losses_), losses_of_ample_run()) << outcome.message;
      const auto stats = nlohmann::json::parse(contents(stats_));
      EXPECT_GT(stats["moves"]["bytes_file_written"].get<std::uint64_t>(), 0u);
      ++right;
    }
    EXPECT_GE(right, 3) << refused;
  }
}

// The first file opened gets the number of a closed stream: neither our files nor our messages may end up there.
TEST_F(Containers, ClosedStandardStreamsStayClosed) {
  const Environment environment = {{"TESSERA_SOFTWARE_MEMORY", "48MiB"},
                                   {"TESSERA_DEVICE_MEMORY", "24MiB"},
                                   {"TESSERA_HOST_MEMORY", "8MiB"},
                                   {"TESSERA_FILE_MEMORY", "256MiB"},
                                   {"TESSERA_FILE_DIR", folder_},
                                   {"TESSERA_CONTROL_DIR", folder_ + "/control"},
                                   {"TESSERA_STATS", scratch("closed.stats")},
                                   {"TESSERA_TRACE", scratch("closed.trace")},
                                   {"TESSERA_TIMELINE", scratch("closed.timeline")},
                                   {"TESSERA_HISTORY", scratch("closed.history")}};
  for (const std::string closed : {"", "2>&-", "1>&- 2>&-", "0<&- 1>&- 2>&-"}) {
    SCOPED_TRACE(closed);
    EXPECT_EQ(run_preloaded("sh -c 'exec ./descriptors " + closed + "'", environment).exit_code, 0);
  }
  fs::remove_all(folder_ + "/control");
}

TEST_F(Containers, OurMessagesNeverGoToAFileOfTheProgram) {
  const std::string losses = scratch("losses");
  const Environment environment = {
      {"TESSERA_SOFTWARE_MEMORY", "20MiB"}, {"TESSERA_HOST_MEMORY", "4MiB"}, {"TESSERA_FILE_MEMORY", "256MiB"},
      {"TESSERA_FILE_DIR", folder_},        {"TESSERA_STATS", "-"},          {"TESSERA_LOG_LEVEL", "debug"}};
  EXPECT_EQ(run_preloaded("sh -c 'exec " + kTraining + " --losses " + losses + " 2>&-'", environment).exit_code, 0);
  EXPECT_EQ(contents(losses), losses_of_ample_run());
}

}  // namespace
}  // namespace tessera::programs
