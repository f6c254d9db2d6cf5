#include "tier/alias_window.hpp"

#include <gtest/gtest.h>

#include <set>

#include "sim_machine.hpp"

namespace tessera {
namespace {

TEST(AliasWindow, HandsOutSlotsThatDoNotOverlapFromFewReservations) {
  SimMachine machine;
  {
    AliasWindow window(machine.driver());
    std::set<std::uint64_t> starts;
    for (std::uint64_t i = 0; i < AliasWindow::kSlab / kBasePage; ++i) {
      starts.insert(window.take(PageClass::kBase).take().value());
    }
    EXPECT_EQ(starts.size(), AliasWindow::kSlab / kBasePage);
    EXPECT_EQ(*starts.rbegin() - *starts.begin(), (AliasWindow::kSlab - kBasePage).value()) << "one slab";
    const Address large = window.take(PageClass::kLarge).take();
    EXPECT_TRUE(large.value() >= *starts.rbegin() + kBasePage.value() ||
                large.value() + kLargePage.value() <= *starts.begin());
    window.give_back(PageClass::kLarge, large);
    EXPECT_EQ(window.take(PageClass::kLarge).take(), large);
  }
  machine.finish();
}

}  // namespace
}  // namespace tessera
