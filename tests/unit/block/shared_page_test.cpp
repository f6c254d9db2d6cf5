#include "block/shared_page.hpp"

#include <gtest/gtest.h>

#include <set>

namespace tessera {
namespace {

class SharedPageTest : public testing::Test {
 protected:
  SharedPageTest() { page_.run = &run_; }

  static Bytes next(Bytes slot, Bytes held) { return SharedPage::part_bytes(*size_class_for(slot), held); }
  tessera::Run run_{Address((64_MiB).value()), shape_for(kBasePage), TagId(2)};
  SharedPage page_{StreamId(1), TagId(2)};
};

TEST_F(SharedPageTest, TheFirstPartIsForOneSlotAndTheNextForAsManyAsThereAre) {
  EXPECT_EQ(next(512_B, Bytes()), 64_KiB);
  EXPECT_EQ(next(512_B, 64_KiB), 64_KiB);
  EXPECT_EQ(next(512_B, 128_KiB), 128_KiB);
  EXPECT_EQ(next(512_B, 1_MiB), 1_MiB);
  EXPECT_EQ(next(512_B, 2_MiB), kBasePage);
  EXPECT_EQ(next(640_KiB, Bytes()), 640_KiB);
  EXPECT_EQ(next(1_MiB, Bytes()), 1_MiB);
}

TEST_F(SharedPageTest, APartLosesAnEighthAtMost) {
  EXPECT_EQ(next(40_KiB, Bytes()), 128_KiB);
  EXPECT_EQ(next(80_KiB, Bytes()), 256_KiB);
  for (std::uint32_t index = 0; index < kSlotClasses; ++index) {
    const SizeClass size_class{index};
    for (Bytes held; held < kBasePage; held += SharedPage::kUnit) {
      const Bytes bytes = SharedPage::part_bytes(size_class, held);
      ASSERT_GE(bytes, std::max(held, size_class.bytes()));
      ASSERT_TRUE(bytes == kBasePage || 8 * (bytes % size_class.bytes()) <= bytes) << index << " " << held.value();
    }
  }
}

TEST_F(SharedPageTest, EveryByteOfAPartIsKnownToBeItsSlabs) {
  const auto small = page_.cut(*size_class_for(512_B), 64_KiB);
  const auto large = page_.cut(*size_class_for(640_KiB), 1280_KiB);
  EXPECT_EQ(page_.room(), kBasePage - 64_KiB - 1280_KiB);
  EXPECT_EQ(page_.slabs(), (std::vector<Slab*>{small.get(), large.get()}));
  for (Bytes offset; offset < kBasePage; offset += 4_KiB) {
    const Slab* const expected = offset < 64_KiB ? small.get() : offset < 1344_KiB ? large.get() : nullptr;
    ASSERT_EQ(page_.slab_at(offset), expected) << offset.value();
  }
  EXPECT_EQ(small->slots(), 128u);
  EXPECT_EQ(large->slots(), 2u);
  EXPECT_EQ(large->address(1), run_.address + 704_KiB);
}

// So the engine, which reads all words of a page, sees each block once, and threads with a line each share no words.
TEST_F(SharedPageTest, TheWordsOfItsSlabsAreItsOwnAndEachIsForOneSlot) {
  std::vector<std::unique_ptr<Slab>> slabs;
  for (const Bytes bytes : {512_B, 5_KiB, 64_KiB, 512_KiB}) {
    slabs.push_back(page_.cut(*size_class_for(bytes), SharedPage::part_bytes(*size_class_for(bytes), Bytes())));
  }
  std::set<const BlockWord*> words;
  for (const auto& slab : slabs) {
    for (std::uint32_t slot = 0; slot < slab->slots(); ++slot) {
      const BlockWord* const word = &slab->word(slot);
      EXPECT_TRUE(words.insert(word).second);
      EXPECT_GE(word, page_.words().data());
      EXPECT_LT(word, page_.words().data() + page_.words().size());
    }
  }
  slabs.back()->word(0).begin(Bytes());
  const auto raw = BlockWord::raw(page_.words());
  EXPECT_EQ(std::ranges::count_if(raw, [](const auto& word) { return word.load() & 1; }), 1);
}

TEST_F(SharedPageTest, CountsTheSlabsInUse) {
  EXPECT_TRUE(page_.is_unused());
  EXPECT_TRUE(page_.note_used());
  EXPECT_FALSE(page_.note_used());
  EXPECT_FALSE(page_.note_unused());
  EXPECT_FALSE(page_.is_unused());
  EXPECT_TRUE(page_.note_unused());
  EXPECT_TRUE(page_.is_unused());
}

}  // namespace
}  // namespace tessera
