#include "live_reader.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "api/live_board.hpp"

namespace {

using tessera::LiveBoard;

std::vector<LiveProcess> own_pages() {
  std::vector<LiveProcess> found = live_processes();
  std::erase_if(found, [](const LiveProcess& process) { return process.pid != ::getpid(); });
  return found;
}

TEST(LiveReader, FindsTheWriterAndAsksIt) {
  const auto board = LiveBoard::open();
  ASSERT_TRUE(board.is_ok());
  const std::vector<LiveProcess> found = own_pages();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, "unit_cli");
  EXPECT_FALSE(found[0].page->read().has_value());
  EXPECT_FALSE(board.value()->wanted());
  found[0].page->watch_for(60'000'000'000);
  EXPECT_TRUE(board.value()->wanted());
  board.value()->publish("figures");
  ASSERT_TRUE(found[0].page->read().has_value());
  EXPECT_EQ(found[0].page->read()->text, "figures");
}

TEST(LiveReader, FindsNothingAfterTheWriterEnded) {
  (void)LiveBoard::open();
  EXPECT_TRUE(own_pages().empty());
}

TEST(LiveReader, AChildOfForkIsNotItsParent) {
  const auto board = LiveBoard::open();
  ASSERT_TRUE(board.is_ok());
  int gate[2];
  ASSERT_EQ(::pipe(gate), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char end;
    ::close(gate[1]);
    [[maybe_unused]] const auto got = ::read(gate[0], &end, 1);
    ::_exit(0);
  }
  const std::vector<LiveProcess> found = live_processes();
  EXPECT_TRUE(
      std::none_of(found.begin(), found.end(), [&](const LiveProcess& process) { return process.pid == child; }));
  ::close(gate[1]);
  ::close(gate[0]);
  ::waitpid(child, nullptr, 0);
}

TEST(LiveReader, NeverSeesHalfOfATextWhileItIsWritten) {
  const auto board = LiveBoard::open();
  ASSERT_TRUE(board.is_ok());
  const std::vector<LiveProcess> found = own_pages();
  ASSERT_EQ(found.size(), 1u);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (char letter = 'a'; !stop.load(); letter = letter == 'z' ? 'a' : static_cast<char>(letter + 1)) {
      board.value()->publish(std::string(100 + static_cast<std::size_t>(letter), letter));
      // Without any pause the reader may not be scheduled for seconds.
      if (letter == 'z') std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  });
  // A reader that collides with the writer gives up and is called again: only successful reads count.
  constexpr int kSamples = 2000;
  int read = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  bool whole = true;
  while (whole && read < kSamples && std::chrono::steady_clock::now() < deadline) {
    const auto sample = found[0].page->read();
    if (!sample) continue;
    const auto letter = static_cast<unsigned char>(sample->text.front());
    whole = sample->text == std::string(100u + letter, sample->text.front());
    EXPECT_TRUE(whole) << sample->text;
    ++read;
  }
  stop.store(true);
  writer.join();
  EXPECT_TRUE(!whole || read == kSamples) << read;
}

}  // namespace
