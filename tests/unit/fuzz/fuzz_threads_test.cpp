#include "lab/fuzz/fuzz_threads.hpp"

#include <gtest/gtest.h>

#include <set>

namespace tessera {
namespace {

std::thread::id thread_of(FuzzThreads& threads, std::uint32_t number) {
  std::thread::id id;
  threads.run(number, [&id] { id = std::this_thread::get_id(); });
  return id;
}

TEST(FuzzThreads, EachNumberIsAThreadOfItsOwnAndTheFirstTheCallers) {
  FuzzThreads threads(3);
  std::set<std::thread::id> ids;
  for (std::uint32_t i = 0; i < 3; ++i) {
    ids.insert(thread_of(threads, i));
    EXPECT_EQ(thread_of(threads, i), thread_of(threads, i));
  }
  EXPECT_EQ(ids.size(), 3u);
  EXPECT_EQ(thread_of(threads, 0), std::this_thread::get_id());
}

TEST(FuzzThreads, ThreadLocalsEndWithTheThread) {
  static int gone = 0;
  struct Kept {
    ~Kept() { ++gone; }
    bool used = false;
  };
  FuzzThreads threads(2);
  threads.run(1, [] {
    static thread_local Kept kept;
    kept.used = true;
  });
  EXPECT_EQ(gone, 0);
  threads.end();
  EXPECT_EQ(gone, 1);
  EXPECT_EQ(thread_of(threads, 1), std::this_thread::get_id());
}

}  // namespace
}  // namespace tessera
