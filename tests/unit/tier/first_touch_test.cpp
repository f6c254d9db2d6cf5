#include "tier/first_touch.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>

#include <cerrno>
#include <thread>
#include <vector>

#include "no_threads.hpp"

namespace tessera {
namespace {

// Fresh writable addresses without memory.
class FreshMemory {
 public:
  explicit FreshMemory(Bytes bytes)
      : bytes_(bytes),
        start_(::mmap(nullptr, bytes.value(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                      0)) {
    // Small pages are counted; a huge one could extend beyond the touched range.
    [[maybe_unused]] const int wished = ::madvise(start_, bytes.value(), MADV_NOHUGEPAGE);
  }
  ~FreshMemory() { ::munmap(start_, bytes_.value()); }

  std::byte* start() const { return static_cast<std::byte*>(start_); }
  Bytes present() const {
    std::vector<unsigned char> pages(bytes_.value() / 4096);
    EXPECT_EQ(::mincore(start_, bytes_.value(), pages.data()), 0);
    std::uint64_t count = 0;
    for (const unsigned char page : pages) count += page & 1;
    return Bytes(count * 4096);
  }

 private:
  const Bytes bytes_;
  void* const start_;
};

TEST(FirstTouch, EveryPageIsPresentWhateverTheNumberOfThreads) {
  for (const unsigned threads : {1u, 2u, 3u, 8u}) {
    for (const Bytes bytes : {4_KiB, 2_MiB + 4_KiB, 9_MiB}) {
      const FreshMemory memory(bytes);
      EXPECT_EQ(memory.present(), Bytes());
      EXPECT_EQ(touch_first(memory.start(), bytes, threads), 0);
      EXPECT_EQ(memory.present(), bytes) << threads << " threads";
    }
  }
}

TEST(FirstTouch, OneThreadTouchesAllWithoutOtherThreads) {
  const FreshMemory memory(9_MiB);
  const NoThreads none;
  EXPECT_EQ(touch_first(memory.start(), 9_MiB, 8), 0);
  EXPECT_EQ(memory.present(), 9_MiB);
}

TEST(FirstTouch, NothingBeyondTheRangeIsTouched) {
  const FreshMemory memory(16_MiB);
  EXPECT_EQ(touch_first(memory.start(), 5_MiB, 2), 0);
  EXPECT_EQ(memory.present(), 5_MiB);
  EXPECT_EQ(touch_first(memory.start(), Bytes(), 2), 0);
}

TEST(FirstTouch, ReportsARefusedPiece) {
  const FreshMemory memory(8_MiB);
  ASSERT_EQ(::munmap(memory.start() + (6_MiB).value(), (2_MiB).value()), 0);
  EXPECT_EQ(touch_first(memory.start(), 8_MiB, 4), ENOMEM);
  EXPECT_EQ(touch_first(memory.start(), 8_MiB, 1), ENOMEM);
}

TEST(FirstTouch, LittleMemoryUsesOneThreadAndNoneMoreThanEight) {
  EXPECT_EQ(touching_threads(Bytes()), 1u);
  EXPECT_EQ(touching_threads(2_MiB), 1u);
  EXPECT_LE(touching_threads(1_TiB), 8u);
  EXPECT_GE(touching_threads(1_TiB), 1u);
}

TEST(FirstTouch, AThreadThatMayHaveOneProcessorWorksAlone) {
  std::thread([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    const int here = ::sched_getcpu();
    ASSERT_GE(here, 0);
    CPU_SET(here, &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
    EXPECT_EQ(touching_threads(1_TiB), 1u);
  }).join();
}

}  // namespace
}  // namespace tessera
