#include "tier/spill_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "in_child.hpp"
#include "private_mount.hpp"

namespace tessera {
namespace {

namespace fs = std::filesystem;

class SpillFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "tessera-spill-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { fs::remove_all(directory_); }

  void expect_private(const SpillFile& file) {
    struct stat about {};
    ASSERT_EQ(::fstat(file.descriptor(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777u, 0600u);
    EXPECT_EQ(about.st_nlink, 0u) << "the file has a name";
    EXPECT_TRUE(fs::is_empty(directory_));
    EXPECT_NE(::fcntl(file.descriptor(), F_GETFD) & FD_CLOEXEC, 0);
  }

  std::string directory_;
};

TEST_F(SpillFileTest, HasItsFullSizeAndTakesNoSpace) {
  const auto file = make_spill_file(directory_, 1_GiB);
  ASSERT_TRUE(file.is_ok()) << file.status().to_string();
  expect_private(file.value());
  struct stat about {};
  ASSERT_EQ(::fstat(file.value().descriptor(), &about), 0);
  EXPECT_EQ(about.st_size, 1 << 30);
  EXPECT_EQ(about.st_blocks, 0);
}

TEST_F(SpillFileTest, WithoutNamelessFilesItIsUnlinkedAtOnce) {
  const auto file = make_unlinked(directory_);
  ASSERT_TRUE(file.is_ok()) << file.status().to_string();
  expect_private(file.value());
}

// Each error is returned by some system: old overlays and NFS, old kernels, security modules, sandboxes.
TEST_F(SpillFileTest, HoweverASystemRefusesNamelessFilesOneIsUnlinkedAtOnce) {
  if (!can_refuse()) GTEST_SKIP() << "no filters of system calls on this machine";
  for (const int error : {EOPNOTSUPP, EISDIR, EINVAL, EACCES, EPERM, ENOSYS, ENOENT}) {
    EXPECT_TRUE(in_child([&] {
      if (!refuse({{SYS_openat, error, 2, O_TMPFILE}})) return false;
      testing::internal::CaptureStderr();
      const auto file = make_spill_file(directory_, 1_MiB);
      struct stat about {};
      return file.is_ok() && testing::internal::GetCapturedStderr().empty() && fs::is_empty(directory_) &&
             ::fstat(file.value().descriptor(), &about) == 0 && (about.st_mode & 0777u) == 0600u &&
             about.st_nlink == 0 && file.value().direct();
    })) << error;
  }
}

TEST_F(SpillFileTest, WarnsOnceWithoutDirectAccess) {
  if (!can_refuse()) GTEST_SKIP() << "no filters of system calls on this machine";
  EXPECT_TRUE(in_child([&] {
    if (!refuse({{SYS_fcntl, EINVAL, 2, O_DIRECT}})) return false;
    testing::internal::CaptureStderr();
    const auto file = make_spill_file(directory_, 1_MiB);
    const std::string said = testing::internal::GetCapturedStderr();
    return file.is_ok() && !file.value().direct() && said.find("no direct I/O") != std::string::npos &&
           said.find('\n') == said.size() - 1;
  }));
}

// The signal would end the program.
TEST_F(SpillFileTest, BeyondTheLimitOnFileSizeItIsAnErrorAndNoSignal) {
  EXPECT_TRUE(in_child([&] {
    const struct rlimit limit { 1 << 20, 1 << 20 };
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0 || file_size_limit() != 1_MiB) return false;
    const Status status = make_spill_file(directory_, 2_MiB).status();
    return status.code() == Code::kIo && status.message().find("ulimit -f") != std::string::npos &&
           make_spill_file(directory_, 1_MiB).is_ok();
  }));
}

TEST_F(SpillFileTest, IsNeverAStandardStream) {
  EXPECT_TRUE(in_child([&] {
    for (const int stream : {0, 1, 2}) ::close(stream);
    const auto nameless = make_nameless(directory_), unlinked = make_unlinked(directory_);
    return nameless.is_ok() && nameless.value().descriptor() > 2 && unlinked.is_ok() &&
           unlinked.value().descriptor() > 2 && ::fcntl(2, F_GETFD) == -1;
  }));
}

TEST_F(SpillFileTest, ADirectoryThatIsMissingIsNamedWithTheReason) {
  for (const auto& make : {make_nameless, make_unlinked}) {
    const Status status = make(directory_ + "/absent").status();
    EXPECT_EQ(status.code(), Code::kIo);
    EXPECT_NE(status.message().find(directory_ + "/absent: "), std::string::npos);
    EXPECT_NE(status.message().find("No such file or directory"), std::string::npos);
  }
}

TEST_F(SpillFileTest, ADirectoryThatCannotBeWrittenIsNamedWithTheReason) {
  if (::geteuid() == 0) {
    const Status status = make_spill_file("/proc/self", 1_MiB).status();
    EXPECT_EQ(status.code(), Code::kIo);
    EXPECT_NE(status.message().find("/proc/self"), std::string::npos);
    return;
  }
  ASSERT_EQ(::chmod(directory_.c_str(), 0500), 0);
  const Status status = make_spill_file(directory_, 1_MiB).status();
  EXPECT_EQ(status.code(), Code::kIo);
  EXPECT_NE(status.message().find("Permission denied"), std::string::npos);
}

TEST_F(SpillFileTest, ASizeBeyondTheFileSystemIsAnError) {
  const Status status = make_spill_file(directory_, Bytes(~std::uint64_t{0} >> 1)).status();
  EXPECT_EQ(status.code(), Code::kIo);
}

TEST_F(SpillFileTest, WithoutDirectAccessItWorksThroughThePageCache) {
  const InMount result = in_private_mount("ramfs", "", [](const std::string& directory) {
    const auto file = make_spill_file(directory, 1_MiB);
    return file.is_ok() && !file.value().direct();
  });
  if (result == InMount::kCannotMount) GTEST_SKIP() << "no file system of our own on this machine";
  EXPECT_EQ(result, InMount::kPassed);
}

TEST_F(SpillFileTest, WarnsOfADirectoryInMemory) {
  const InMount result = in_private_mount("tmpfs", "", [](const std::string& directory) {
    testing::internal::CaptureStderr();
    const bool made = make_spill_file(directory, 1_MiB).is_ok();
    const std::string said = testing::internal::GetCapturedStderr();
    return made && said.find("is in main memory") != std::string::npos;
  });
  if (result == InMount::kCannotMount) GTEST_SKIP() << "no file system of our own on this machine";
  EXPECT_EQ(result, InMount::kPassed);
}

}  // namespace
}  // namespace tessera
