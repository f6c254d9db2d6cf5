#include "block/thread_caches.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace tessera {
namespace {

constexpr CacheKey kKey{SizeClass{0}, StreamId(0), TagId(0)};

void put(ThreadCaches& caches, Address address) {
  ThreadCache* const mine = caches.mine();
  if (mine->push(kKey, address)) return;
  mine->make_place(kKey, [](Address) {});
  EXPECT_TRUE(mine->push(kKey, address));
}

class ThreadCachesTest : public testing::Test {
 protected:
  std::vector<Address> returned_;
  const std::function<void(ThreadCache&)> empty_ = [this](ThreadCache& cache) {
    cache.steal([this](Address address) { returned_.push_back(address); });
  };
};

TEST_F(ThreadCachesTest, EachThreadHasOneAndKeepsIt) {
  ThreadCaches caches(empty_);
  ThreadCache* const mine = caches.mine();
  EXPECT_EQ(caches.mine(), mine);
  ThreadCache* other = nullptr;
  std::thread([&] { other = caches.mine(); }).join();
  EXPECT_NE(other, mine);
}

TEST_F(ThreadCachesTest, AnEndedThreadReturnsItsBlocksAndItsCache) {
  ThreadCaches caches(empty_);
  ThreadCache* first = nullptr;
  std::thread([&] {
    first = caches.mine();
    put(caches, Address(7));
  }).join();
  EXPECT_EQ(returned_, std::vector{Address(7)});
  ThreadCache* second = nullptr;
  std::thread([&] { second = caches.mine(); }).join();
  EXPECT_EQ(second, first);
}

// Another thread of the parent may have held any lock, and does not exist in the child to release it.
TEST_F(ThreadCachesTest, AForkedChildReturnsNoBlocks) {
  const pid_t parent = ::getpid();
  ThreadCaches caches([parent](ThreadCache&) {
    if (::getpid() != parent) ::_exit(7);
  });
  put(caches, Address(7));
  const pid_t child = ::fork();
  if (child == 0) std::exit(5);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 5);
}

TEST_F(ThreadCachesTest, AnAllocatorMayEndBeforeTheThreadsThatUsedIt) {
  auto caches = std::make_unique<ThreadCaches>(empty_);
  std::atomic<int> step{0};
  std::thread user([&] {
    put(*caches, Address(7));
    step.store(1);
    while (step.load() != 2) std::this_thread::yield();
  });
  while (step.load() != 1) std::this_thread::yield();
  caches.reset();
  step.store(2);
  user.join();
  EXPECT_TRUE(returned_.empty());
}

TEST_F(ThreadCachesTest, ANewAllocatorIsNotConfusedWithADestroyedOne) {
  for (int i = 0; i < 20; ++i) {
    ThreadCaches caches(empty_);
    EXPECT_FALSE(caches.mine()->pop(kKey));
    put(caches, Address(7));
  }
  EXPECT_TRUE(returned_.empty());
}

TEST_F(ThreadCachesTest, MoreAllocatorsThanAThreadRemembersLoseNoBlock) {
  std::vector<std::unique_ptr<ThreadCaches>> many;
  for (std::uint64_t i = 1; i <= 20; ++i) {
    many.push_back(std::make_unique<ThreadCaches>(empty_));
    put(*many.back(), Address(i));
  }
  std::size_t found = returned_.size();
  for (const auto& caches : many) caches->steal_all([&](Address) { ++found; });
  EXPECT_EQ(found, 20u);
}

TEST_F(ThreadCachesTest, OneThreadMayStealFromAllCaches) {
  ThreadCaches caches(empty_);
  put(caches, Address(1));
  std::atomic<int> step{0};
  std::thread other([&] {
    put(caches, Address(2));
    step.store(1);
    while (step.load() != 2) std::this_thread::yield();
  });
  while (step.load() != 1) std::this_thread::yield();
  std::size_t stolen = 0;
  caches.steal_all([&](Address) { ++stolen; });
  EXPECT_EQ(stolen, 2u);
  step.store(2);
  other.join();
}

// Destructors of thread-local objects may run after the thread's caches were given back.
TEST_F(ThreadCachesTest, AThreadThatIsEndingHasNone) {
  static ThreadCaches* caches = nullptr;
  static bool had_none = false;
  ThreadCaches here(empty_);
  caches = &here;
  struct Late {
    ~Late() { had_none = caches->mine() == nullptr; }
  };
  std::thread([&] {
    static thread_local Late late;  // made first, so destroyed last
    (void)late;
    put(here, Address(7));
  }).join();
  EXPECT_TRUE(had_none);
  EXPECT_EQ(returned_.size(), 1u);
}

}  // namespace
}  // namespace tessera
