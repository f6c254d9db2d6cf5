#include "sim/sim_slots.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/units.hpp"

namespace tessera {
namespace {

using Handle = Id<struct SlotTag>;
using Slots = SimSlots<Handle, std::vector<int>>;

TEST(SimSlots, ReusesSlotsButNeverHandles) {
  Slots slots;
  const Handle first = slots.take();
  EXPECT_TRUE(slots.contains(first));
  slots.give(first);
  const Handle second = slots.take();
  EXPECT_EQ(Slots::slot_of(first), Slots::slot_of(second));
  EXPECT_NE(first, second);
  EXPECT_FALSE(slots.contains(first));
  EXPECT_TRUE(slots.contains(second));
}

TEST(SimSlots, NoneIsNeverThere) {
  Slots slots;
  EXPECT_FALSE(slots.contains(Handle()));
  slots.give(slots.take());
  EXPECT_FALSE(slots.contains(Handle()));
}

TEST(SimSlots, ValuesStayWhereTheyAre) {
  Slots slots;
  const Handle first = slots.take();
  const std::vector<int>* const at = &slots.at(first);
  for (int i = 0; i < 1000; ++i) slots.at(slots.take()).push_back(i);
  EXPECT_EQ(&slots.at(first), at);
  EXPECT_EQ(slots.size(), 1001u);
}

TEST(SimSlots, AReusedSlotKeepsItsCapacity) {
  Slots slots;
  const Handle first = slots.take();
  slots.at(first).reserve(100);
  slots.give(first);
  EXPECT_GE(slots.at(slots.take()).capacity(), 100u);
}

TEST(SimSlots, VisitsThoseThatAreThere) {
  Slots slots;
  const Handle first = slots.take(), second = slots.take();
  slots.at(second).push_back(7);
  slots.give(first);
  std::vector<Handle> seen;
  slots.for_each([&](Handle handle, const std::vector<int>& value) {
    seen.push_back(handle);
    EXPECT_EQ(value, std::vector<int>{7});
  });
  EXPECT_EQ(seen, std::vector<Handle>{second});
}

}  // namespace
}  // namespace tessera
