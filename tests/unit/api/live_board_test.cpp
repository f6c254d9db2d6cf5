#include "api/live_board.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <string>

namespace tessera {
namespace {

namespace fs = std::filesystem;

// The page as seen by another process.
class BoardPage {
 public:
  BoardPage() {
    for (const auto& link : fs::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      if (!fs::read_symlink(link.path(), gone).string().starts_with("/memfd:" TESSERA_LIVE_NAME)) {
        continue;
      }
      file_ = ::open(link.path().c_str(), O_RDWR);
      page_ = static_cast<tessera_live*>(
          ::mmap(nullptr, sizeof(tessera_live), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
    }
  }
  ~BoardPage() {
    if (page_ == nullptr) return;
    ::munmap(page_, sizeof(tessera_live));
    ::close(file_);
  }
  tessera_live* operator->() { return page_; }
  bool found() const { return page_ != nullptr; }
  int file() const { return file_; }
  std::string text() const { return {reinterpret_cast<const char*>(page_->text), page_->text_bytes}; }

 private:
  int file_ = -1;
  tessera_live* page_ = nullptr;
};

TEST(LiveBoard, IsAPrivatePageThatCannotBeTruncated) {
  const auto board = LiveBoard::open();
  ASSERT_TRUE(board.is_ok());
  BoardPage page;
  ASSERT_TRUE(page.found());
  EXPECT_EQ(page->magic, TESSERA_LIVE_MAGIC);
  EXPECT_EQ(page->pid, ::getpid());
  struct stat facts {};
  ASSERT_EQ(::fstat(page.file(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
  EXPECT_NE(::ftruncate(page.file(), 0), 0);
}

TEST(LiveBoard, LeavesNothingBehind) {
  (void)LiveBoard::open();
  EXPECT_FALSE(BoardPage().found());
}

TEST(LiveBoard, ShowsTheNewestTextUnderAnEvenSequence) {
  const auto board = LiveBoard::open();
  ASSERT_TRUE(board.is_ok());
  BoardPage page;
  board.value()->publish("a longer text");
  board.value()->publish("{\"a\":1}");
  EXPECT_EQ(page.text(), "{\"a\":1}");
  EXPECT_EQ(page->sequence, 4u);
  EXPECT_GT(page->written_ns, 0u);
}

TEST(LiveBoard, AFullPageIsShownAndMoreIsNot) {
  const auto board = LiveBoard::open();
  ASSERT_TRUE(board.is_ok());
  BoardPage page;
  const std::string full(LiveBoard::kCapacity, 'x');
  board.value()->publish(full);
  EXPECT_EQ(page.text(), full);
  board.value()->publish(full + "y");
  EXPECT_EQ(page->sequence, 2u);
}

TEST(LiveBoard, StaysRequestedForTheReadersPeriod) {
  const auto board = LiveBoard::open();
  ASSERT_TRUE(board.is_ok());
  BoardPage page;
  EXPECT_FALSE(board.value()->wanted());
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const auto seconds = static_cast<std::uint64_t>(now.tv_sec);
  page->watched_until_ns = (seconds + 3600) * 1'000'000'000;
  EXPECT_TRUE(board.value()->wanted());
  page->watched_until_ns = seconds * 1'000'000'000;
  EXPECT_FALSE(board.value()->wanted());
}

}  // namespace
}  // namespace tessera
