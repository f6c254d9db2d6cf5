#include "node/ledger_file.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstring>
#include <fstream>
#include <thread>

#include "ledger_fixture.hpp"

namespace tessera {
namespace {

using std::chrono::milliseconds;

class LedgerFileTest : public LedgerTest {
 protected:
  static constexpr uid_t kOtherUser = 65534;
  static unsigned mode_of(const std::string& path) {
    struct stat found {};
    return ::lstat(path.c_str(), &found) == 0 ? found.st_mode & 07777U : 0U;
  }
  // Why the file cannot be used; "" if it can.
  std::string refusal() const {
    const auto file = open();
    const Status locked = file->lock(milliseconds(0));
    if (locked.is_ok()) file->unlock();
    return std::string(locked.message());
  }
  void make_folder(unsigned mode = 0700) {
    const std::string folder = std::filesystem::path(path()).parent_path();
    ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
    ASSERT_EQ(::chmod(folder.c_str(), mode), 0);
  }
};

TEST_F(LedgerFileTest, IsPrivateToItsUser) {
  const mode_t before = ::umask(0);
  EXPECT_EQ(refusal(), "");
  ::umask(before);
  EXPECT_EQ(mode_of(path()), 0600U);
  EXPECT_EQ(mode_of(std::filesystem::path(path()).parent_path()), 0700U);
}

TEST_F(LedgerFileTest, ReadsWhatWasWritten) {
  const auto file = open();
  ASSERT_TRUE(file->lock(milliseconds(0)).is_ok());
  EXPECT_TRUE(file->write(100, std::as_bytes(std::span("text", 4))).is_ok());
  std::array<std::byte, 200> bytes{};
  EXPECT_EQ(file->read(bytes).value(), 104U);
  EXPECT_EQ(std::memcmp(&bytes[100], "text", 4), 0);
  file->unlock();
}

// The other has opened the file and waits for its lock when it is removed: it may not write into a file without a name.
TEST_F(LedgerFileTest, ACallThatWaitsWhileTheFileIsRemovedMakesANewOne) {
  const auto opened_here = [this] {
    std::size_t count = 0;
    std::error_code gone;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      if (std::filesystem::read_symlink(entry.path(), gone) == path()) ++count;
    }
    return count;
  };
  const auto file = open(), other = open();
  ASSERT_TRUE(file->lock(milliseconds(0)).is_ok());
  ASSERT_TRUE(file->write(0, std::as_bytes(std::span("old", 3))).is_ok());
  std::thread waits([&] {
    ASSERT_TRUE(other->lock(std::chrono::hours(1)).is_ok());
    EXPECT_TRUE(other->write(0, std::as_bytes(std::span("new one", 7))).is_ok());
    other->unlock();
  });
  while (opened_here() < 2) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_TRUE(file->remove().is_ok());
  file->unlock();
  waits.join();
  EXPECT_EQ(std::filesystem::file_size(path()), 7U);
}

TEST_F(LedgerFileTest, AFileThatReplacedItIsNotRemoved) {
  const auto file = open();
  ASSERT_TRUE(file->lock(milliseconds(0)).is_ok());
  std::filesystem::rename(path(), path() + ".old");
  EXPECT_EQ(file->remove().code(), Code::kIo);
  std::ofstream(path()) << "another";
  EXPECT_EQ(file->remove().code(), Code::kIo);
  file->unlock();
  EXPECT_EQ(std::filesystem::file_size(path()), 7U);
}

TEST_F(LedgerFileTest, AllFilesOfThisVersionAreFound) {
  EXPECT_TRUE(all_ledger_files({folder_}).empty());
  for (const char* name : {"job", "other"}) {
    const auto file = open_ledger_file({folder_}, name, name[0] == 'o' ? std::string(32, 'a') : "").take();
    ASSERT_TRUE(file->lock(milliseconds(0)).is_ok());
    file->unlock();
  }
  const std::filesystem::path folder = std::filesystem::path(path()).parent_path();
  for (const char* name : {"job.v1", "notes", ".hidden"}) std::ofstream(folder / name) << "something else";
  const auto all = all_ledger_files({folder_});
  ASSERT_EQ(all.size(), 2U);
  for (const auto& file : all) {
    ASSERT_TRUE(file->lock(milliseconds(0)).is_ok());
    EXPECT_TRUE(file->remove().is_ok());
    file->unlock();
  }
  EXPECT_TRUE(all_ledger_files({folder_}).empty());
  EXPECT_TRUE(std::filesystem::exists(folder / "job.v1"));
}

TEST_F(LedgerFileTest, TheLedgersOfDevicesAreFound) {
  const std::string one(32, 'a'), other = "00112233445566778899aabbccddeeff";
  EXPECT_TRUE(devices_with_ledgers({folder_}, "job").empty());
  for (const std::string& device : {one, other}) {
    const auto file = open_ledger_file({folder_}, "job", device).take();
    ASSERT_TRUE(file->lock(milliseconds(0)).is_ok());
    file->unlock();
  }
  for (const char* name : {"job", "job.7", "other"}) {
    const auto file = open_ledger_file({folder_}, name).take();
    ASSERT_TRUE(file->lock(milliseconds(0)).is_ok());
    file->unlock();
  }
  EXPECT_EQ(devices_with_ledgers({folder_}, "job"), (std::vector{other, one}));
  EXPECT_TRUE(devices_with_ledgers({folder_}, "other").empty());
  EXPECT_TRUE(devices_with_ledgers({folder_ + "/none"}, "job").empty());
}

TEST_F(LedgerFileTest, NamesAreChecked) {
  for (const char* name : {"", ".", "..", ".hidden", "a/b", "a b", "\xc3\xa4"}) {
    EXPECT_EQ(open_ledger_file({folder_}, name).status().code(), Code::kInvalidArgument) << name;
  }
  EXPECT_EQ(open_ledger_file({folder_}, std::string(65, 'a')).status().code(), Code::kInvalidArgument);
  EXPECT_TRUE(open_ledger_file({folder_}, "job-7_a.b").is_ok());
}

TEST_F(LedgerFileTest, TheFirstExistingParentIsUsed) {
  EXPECT_EQ(open_ledger_file({folder_ + "/none"}, kName).status().code(), Code::kNotFound);
  const auto file = open_ledger_file({folder_ + "/none", folder_}, kName).take();
  ASSERT_TRUE(file->lock(milliseconds(0)).is_ok());
  file->unlock();
  EXPECT_TRUE(std::filesystem::exists(path()));
}

TEST_F(LedgerFileTest, AFolderThatOthersCanUseIsRefused) {
  make_folder(0750);
  EXPECT_NE(refusal().find("not private"), std::string::npos) << refusal();
}

TEST_F(LedgerFileTest, ALinkIsRefused) {
  make_folder();
  std::filesystem::create_symlink(folder_ + "/elsewhere", path());
  EXPECT_NE(refusal(), "");
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/elsewhere"));
}

TEST_F(LedgerFileTest, ALinkInPlaceOfTheFolderIsRefused) {
  std::filesystem::create_directories(folder_ + "/elsewhere");
  std::filesystem::create_directory_symlink(folder_ + "/elsewhere", std::filesystem::path(path()).parent_path());
  EXPECT_NE(refusal(), "");
}

TEST_F(LedgerFileTest, AFileThatOthersCanReadIsRefused) {
  EXPECT_EQ(refusal(), "");
  ASSERT_EQ(::chmod(path().c_str(), 0644), 0);
  EXPECT_NE(refusal().find("private to this user"), std::string::npos) << refusal();
}

// Made before the program started, for it to trust.
TEST_F(LedgerFileTest, WhatAnotherUserHasMadeIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make files of another user";
  make_folder();
  const std::string folder = std::filesystem::path(path()).parent_path();
  std::ofstream(path()) << "";
  ASSERT_EQ(::chmod(path().c_str(), 0600), 0);
  EXPECT_EQ(refusal(), "");
  std::ofstream(path()) << "";
  ASSERT_EQ(::chmod(path().c_str(), 0600), 0);
  ASSERT_EQ(::chown(path().c_str(), kOtherUser, kOtherUser), 0);
  EXPECT_NE(refusal().find("private to this user"), std::string::npos) << refusal();
  ASSERT_EQ(::chown(path().c_str(), 0, 0), 0);
  ASSERT_EQ(::chown(folder.c_str(), kOtherUser, kOtherUser), 0);
  EXPECT_NE(refusal().find("is not private to this user"), std::string::npos) << refusal();
}

TEST_F(LedgerFileTest, UsersShareNoLedger) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  ASSERT_EQ(::chmod(::testing::TempDir().c_str(), 0711), 0);  // the folder of this test
  ASSERT_EQ(::chmod(folder_.c_str(), 01777), 0);              // as /dev/shm
  const auto own = join();
  ASSERT_TRUE(hold(*own, Bytes(7)).is_ok());
  enum Outcome { kAlone = 0, kSawRows, kOpened, kRemoved, kFailed };
  const pid_t child = start([&, path = path()] {
    if (::setgroups(0, nullptr) != 0 || ::setgid(kOtherUser) != 0 || ::setuid(kOtherUser) != 0) ::_exit(kFailed);
    if (::open(path.c_str(), O_RDONLY) >= 0 || ::open(path.c_str(), O_WRONLY) >= 0) ::_exit(kOpened);
    if (::unlink(path.c_str()) == 0) ::_exit(kRemoved);
    Ledger other(open(), clock_, Ledger::Self{this_process()}, {Bytes(1000), Bytes(500)});
    std::size_t rows = 0;
    if (!other.transact([&](Books& books) { rows = books.rows.size(); }).is_ok()) ::_exit(kFailed);
    if (rows != 1) ::_exit(kSawRows);
  });
  int state = 0;
  ASSERT_EQ(::waitpid(child, &state, 0), child);
  ASSERT_TRUE(WIFEXITED(state));
  EXPECT_EQ(WEXITSTATUS(state), kAlone);
  EXPECT_EQ(books_of(*own).rows.size(), 1U);
}

TEST_F(LedgerFileTest, APipeIsRefusedWithoutWaiting) {
  make_folder();
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_NE(refusal().find("private to this user"), std::string::npos) << refusal();
}

TEST_F(LedgerFileTest, OnlyOneHasTheLock) {
  const auto first = open(), second = open();
  ASSERT_TRUE(first->lock(milliseconds(0)).is_ok());
  EXPECT_EQ(second->lock(milliseconds(5)).code(), Code::kBusy);
  first->unlock();
  EXPECT_TRUE(second->lock(milliseconds(0)).is_ok());
  second->unlock();
}

// A pipe that says that a child is where it should be.
class Signal {
 public:
  Signal() { EXPECT_EQ(::pipe(ends_), 0); }
  ~Signal() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  void send() const { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
  void wait() const {
    char c = 0;
    EXPECT_EQ(::read(ends_[0], &c, 1), 1);
  }

 private:
  int ends_[2] = {-1, -1};
};

TEST_F(LedgerFileTest, AStoppedHolderDoesNotHangOthersAndAKilledOneFreesTheLock) {
  const Signal locked;
  const pid_t child = start([&] {
    const auto file = open();
    if (!file->lock(milliseconds(0)).is_ok()) ::_exit(EXIT_FAILURE);
    locked.send();
    for (;;) ::pause();
  });
  locked.wait();
  ::kill(child, SIGSTOP);
  int state = 0;
  ASSERT_EQ(::waitpid(child, &state, WUNTRACED), child);
  const auto file = open();
  EXPECT_EQ(file->lock(milliseconds(10)).code(), Code::kBusy);
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, &state, 0), child);
  EXPECT_TRUE(file->lock(milliseconds(0)).is_ok());
  file->unlock();
}

TEST_F(LedgerFileTest, NoDescriptorStaysOpen) {
  const auto count = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const auto before = count();
  const auto file = open();
  ASSERT_TRUE(file->lock(milliseconds(0)).is_ok());
  EXPECT_EQ(open()->lock(milliseconds(0)).code(), Code::kBusy);
  file->unlock();
  EXPECT_EQ(count(), before);
}

}  // namespace
}  // namespace tessera
