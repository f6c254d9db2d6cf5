// Runs found by the traits of their pages, in which order, and removal.
#include "residency/pages/runs_by_trait.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using ListedRun = tessera::Run;  // a test has a member Run() of its own

class RunsByTraitTest : public ::testing::Test {
 protected:
  void add(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      runs_.push_back(
          std::make_unique<ListedRun>(Address(kLargePage.value() * (runs_.size() + 1)), RunShape{0, 2}, TagId()));
      runs_.back()->index = runs_.size() - 1;
    }
  }
  void put(std::size_t run, std::uint32_t page, PageState state) {
    runs_[run]->pages[page].state = state;
    by_trait_.note(*runs_[run], runs_[run]->pages[page]);
  }
  std::vector<std::size_t> found(PageTrait trait = PageTrait::kResident) const {
    std::vector<std::size_t> indices;
    for (const ListedRun& run : by_trait_.of(runs_, trait)) indices.push_back(run.index);
    return indices;
  }

  using Indices = std::vector<std::size_t>;
  RunList runs_;
  RunsByTrait by_trait_;
};

TEST_F(RunsByTraitTest, FindsRunsWithTheTraitInListOrder) {
  add(200);
  EXPECT_EQ(found(), Indices());
  for (const std::size_t run : {199u, 64u, 0u, 63u, 130u}) put(run, 1, PageState::kResident);
  EXPECT_EQ(found(), (Indices{0, 63, 64, 130, 199}));
  EXPECT_TRUE(by_trait_.validate(runs_).is_ok());
}

TEST_F(RunsByTraitTest, ARunIsFoundUntilItsLastPageHasChanged) {
  add(3);
  for (const std::uint32_t page : {0u, 1u}) put(1, page, PageState::kResident);
  put(1, 0, PageState::kEmpty);
  EXPECT_EQ(found(), Indices{1});
  put(1, 1, PageState::kEmpty);
  EXPECT_EQ(found(), Indices());
}

TEST_F(RunsByTraitTest, ACopyCountsByWhereItsPageIs) {
  add(1);
  runs_[0]->pages[0].host = Frame();
  runs_[0]->pages[0].file = Frame();
  put(0, 0, PageState::kResident);
  for (const PageTrait trait : {PageTrait::kCopyInHost, PageTrait::kCopyInFile}) EXPECT_EQ(found(trait), Indices{0});
  EXPECT_EQ(found(PageTrait::kCopyInPeer), Indices());
  put(0, 0, PageState::kCold);
  EXPECT_EQ(found(PageTrait::kColdInHost), Indices{0});
  for (const PageTrait trait : {PageTrait::kResident, PageTrait::kCopyInHost, PageTrait::kCopyInFile}) {
    EXPECT_EQ(found(trait), Indices());
  }
}

TEST_F(RunsByTraitTest, SeesChangesMadeDuringTheWalk) {
  add(100);
  for (const std::size_t run : {1u, 2u, 90u}) put(run, 0, PageState::kResident);
  Indices seen;
  for (const ListedRun& run : by_trait_.of(runs_, PageTrait::kResident)) {
    seen.push_back(run.index);
    put(run.index, 0, PageState::kEmpty);
    if (run.index == 1) put(2, 0, PageState::kEmpty), put(3, 0, PageState::kResident);
  }
  EXPECT_EQ(seen, (Indices{1, 3, 90}));
}

TEST_F(RunsByTraitTest, TheLastRunTakesTheIndexOfARemovedOne) {
  add(70);
  for (const std::size_t run : {5u, 69u}) put(run, 0, PageState::kResident);
  const auto remove = [&](std::size_t index) {
    by_trait_.remove(index, runs_.size() - 1);
    std::swap(runs_[index], runs_.back());
    runs_[index]->index = index;
    runs_.pop_back();
  };
  remove(4);
  EXPECT_EQ(found(), (Indices{4, 5}));
  remove(5);
  EXPECT_EQ(found(), Indices{4});
  remove(68 - 1);
  EXPECT_EQ(found(), Indices{4});
  EXPECT_TRUE(by_trait_.validate(runs_).is_ok());
}

TEST_F(RunsByTraitTest, ValidateFindsWhatIsNotTrue) {
  add(2);
  put(0, 0, PageState::kResident);
  runs_[0]->pages[0].state = PageState::kEmpty;  // without updating the lists
  EXPECT_FALSE(by_trait_.validate(runs_).is_ok());
  runs_[0]->pages[0].state = PageState::kResident;
  EXPECT_TRUE(by_trait_.validate(runs_).is_ok());
  by_trait_.remove(1, 0);
  EXPECT_FALSE(by_trait_.validate(runs_).is_ok());
}

}  // namespace
}  // namespace tessera
