#include "block/shared_pages.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

class SharedPagesTest : public testing::Test {
 protected:
  CacheKey key(Bytes bytes, TagId tag = TagId(2)) { return {*size_class_for(bytes), StreamId(1), tag}; }
  SharedPage& add() {
    auto page = std::make_unique<SharedPage>(StreamId(1), TagId(2));
    page->run = &run_;
    SharedPage& added = *page;
    pages_.add(std::move(page));
    return added;
  }
  Slab* cut(Bytes slot, Bytes bytes, TagId tag = TagId(2)) {
    auto slab = pages_.cut(key(slot, tag), bytes);
    return slab ? slabs_.emplace_back(std::move(slab)).get() : nullptr;
  }

  tessera::Run run_{Address((64_MiB).value()), shape_for(kBasePage), TagId(2)};
  SharedPages pages_;
  std::vector<std::unique_ptr<Slab>> slabs_;
};

TEST_F(SharedPagesTest, CutsNoMoreThanThePageHolds) {
  EXPECT_EQ(cut(512_B, 64_KiB), nullptr);
  SharedPage& page = add();
  EXPECT_EQ(cut(512_KiB, 1536_KiB)->page(), &page);
  EXPECT_EQ(cut(512_KiB, 1_MiB), nullptr);
  EXPECT_EQ(cut(512_KiB, 512_KiB)->start, 1536_KiB);
  EXPECT_EQ(cut(512_B, 64_KiB), nullptr);
}

TEST_F(SharedPagesTest, CutsFromThePageThatHasLeastRoomLeftThen) {
  SharedPage& one = add();
  SharedPage& two = add();
  const SharedPage* const first = cut(1_MiB, 1_MiB)->page();
  const SharedPage* const other = first == &one ? &two : &one;
  EXPECT_EQ(cut(1_MiB, 2_MiB)->page(), other);
  EXPECT_EQ(cut(1_MiB, 1_MiB)->page(), first);
}

TEST_F(SharedPagesTest, AnotherTagHasOtherPages) {
  add();
  EXPECT_EQ(cut(512_B, 64_KiB, TagId(3)), nullptr);
}

TEST_F(SharedPagesTest, DoesNotCutARemovedPage) {
  SharedPage& kept = add();
  add();
  const auto removed = pages_.remove_if([&](const SharedPage& page) { return &page != &kept; });
  EXPECT_EQ(removed.size(), 1u);
  EXPECT_EQ(cut(1_MiB, 2_MiB)->page(), &kept);
  EXPECT_EQ(cut(1_MiB, 2_MiB), nullptr);
  std::size_t pages = 0;
  pages_.for_each([&](const SharedPage&) { ++pages; });
  EXPECT_EQ(pages, 1u);
}

}  // namespace
}  // namespace tessera
