#include "node/ledger_folder.hpp"

#include <grp.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>

#include "ledger_fixture.hpp"

namespace tessera {
namespace {

constexpr gid_t kGroup = 65532;
constexpr uid_t kMember = 65533, kOtherMember = 65534;

// A folder as an administrator makes it, in that of the ledgers.
class LedgerFolderTest : public LedgerTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can make a folder for a group";
    ASSERT_EQ(::chmod(::testing::TempDir().c_str(), 0711), 0);
    ASSERT_EQ(::chmod(folder_.c_str(), 01777), 0);  // as /dev/shm
    ASSERT_EQ(::mkdir(shared().c_str(), 0700), 0);
    set(0, kGroup, 02770);
  }
  std::string shared() const { return folder_ + "/tessera"; }
  std::string ledger() const { return shared() + "/" + ledger_file_name(kName); }
  void set(uid_t owner, gid_t group, mode_t mode) {
    ASSERT_EQ(::chown(shared().c_str(), owner, group), 0);
    ASSERT_EQ(::chmod(shared().c_str(), mode), 0);
  }
  bool is_used() const { return ledger_folder_in(folder_).path == shared(); }
  // In a child: as another user, whose new files are private.
  static void become(uid_t user, gid_t group) {
    ::umask(0077);
    if (::setgroups(1, &group) != 0 || ::setgid(user) != 0 || ::setuid(user) != 0) ::_exit(EXIT_FAILURE);
  }
  static int exit_code(pid_t child) {
    int state = 0;
    EXPECT_EQ(::waitpid(child, &state, 0), child);
    return WIFEXITED(state) ? WEXITSTATUS(state) : -1;
  }
};

TEST_F(LedgerFolderTest, MembersOfItsGroupShareALedger) {
  int holds[2], seen[2];
  ASSERT_EQ(::pipe(holds), 0);
  ASSERT_EQ(::pipe(seen), 0);
  const pid_t holder = start([&] {
    become(kMember, kGroup);
    ::close(seen[1]);
    const auto ledger = join_job("17");
    char any = 0;
    if (!hold(*ledger, Bytes(7)).is_ok() || ::write(holds[1], &any, 1) != 1) ::_exit(EXIT_FAILURE);
    if (::read(seen[0], &any, 1) != 0) ::_exit(EXIT_FAILURE);  // the end of it
  });
  ::close(holds[1]);
  char any = 0;
  ASSERT_EQ(::read(holds[0], &any, 1), 1);
  enum Outcome { kRight = 0, kNotBoth = 2, kOtherAmount, kSameJob };
  const pid_t looker = start([&] {
    become(kOtherMember, kGroup);
    const auto ledger = join_job("17");
    const Books books = books_of(*ledger);
    if (books.rows.size() != 2) ::_exit(kNotBoth);
    if (books.held(NodeResource::kHostMemory) != Bytes(7)) ::_exit(kOtherAmount);
    if (books.rows[0].job == books.rows[1].job) ::_exit(kSameJob);
  });
  EXPECT_EQ(exit_code(looker), kRight);
  for (const int end : {holds[0], seen[0], seen[1]}) ::close(end);
  EXPECT_EQ(exit_code(holder), EXIT_SUCCESS);
}

TEST_F(LedgerFolderTest, TheLastProgramRemovesTheLedgerOfAnotherUser) {
  EXPECT_EQ(exit_code(start([&] {
              become(kMember, kGroup);
              const auto ledger = join();
              if (!hold(*ledger, Bytes(7)).is_ok()) ::_exit(EXIT_FAILURE);
              ::_exit(EXIT_SUCCESS);  // the row stays
            })),
            EXIT_SUCCESS);
  struct stat found {};
  ASSERT_EQ(::stat(ledger().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777U, 0660U);
  EXPECT_EQ(found.st_gid, kGroup);
  EXPECT_EQ(exit_code(start([&] {
              become(kOtherMember, kGroup);
              if (books_of(*join()).rows.size() != 1) ::_exit(EXIT_FAILURE);
            })),
            EXIT_SUCCESS);
  EXPECT_NE(::stat(ledger().c_str(), &found), 0);
}

TEST_F(LedgerFolderTest, WithoutTheGroupAUserHasAPrivateOne) {
  const auto own = join();
  ASSERT_TRUE(hold(*own, Bytes(7)).is_ok());
  EXPECT_EQ(exit_code(start([&] {
              become(kMember, kGroup - 1);
              if (is_used() || books_of(*join()).rows.size() != 1) ::_exit(EXIT_FAILURE);
            })),
            EXIT_SUCCESS);
  EXPECT_EQ(books_of(*own).rows.size(), 1U);
}

// What another user has made, or what others than its group can change, is not the administrator's.
TEST_F(LedgerFolderTest, OneOfAnotherOwnerOrModeIsNotUsed) {
  EXPECT_TRUE(is_used());
  for (const mode_t mode : {0770U, 02700U, 02777U, 02771U, 03770U}) {
    set(0, kGroup, mode);
    EXPECT_FALSE(is_used()) << std::oct << mode;
  }
  set(kMember, kGroup, 02770);
  EXPECT_FALSE(is_used());
  std::filesystem::remove(shared());
  std::filesystem::create_directories(folder_ + "/elsewhere");
  std::filesystem::create_directory_symlink(folder_ + "/elsewhere", shared());
  EXPECT_FALSE(is_used());
}

TEST_F(LedgerFolderTest, AFolderThatIsOpenedUpLaterIsRefused) {
  const auto file = open();
  ASSERT_TRUE(file->lock(std::chrono::milliseconds(0)).is_ok());
  file->unlock();
  set(0, kGroup, 02777);
  EXPECT_NE(file->lock(std::chrono::milliseconds(0)).message().find("not private to the group"), std::string::npos);
}

TEST_F(LedgerFolderTest, AFileOfAnotherGroupOrForAllIsRefused) {
  const auto refusal = [this] { return std::string(open()->lock(std::chrono::milliseconds(0)).message()); };
  EXPECT_EQ(refusal(), "");
  ASSERT_EQ(::chmod(ledger().c_str(), 0664), 0);
  EXPECT_NE(refusal().find("private to the group"), std::string::npos) << refusal();
  ASSERT_EQ(::chmod(ledger().c_str(), 0660), 0);
  ASSERT_EQ(::chown(ledger().c_str(), kMember, kGroup - 1), 0);
  EXPECT_NE(refusal().find("private to the group"), std::string::npos) << refusal();
}

}  // namespace
}  // namespace tessera
