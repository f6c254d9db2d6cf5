#include "driver/driver_call.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace tessera {
namespace {

TEST(DriverCall, EachCallHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kDriverCalls; ++i) names.insert(name_of(static_cast<DriverCall>(i)));
  EXPECT_EQ(names.size(), kDriverCalls);
  EXPECT_FALSE(names.contains("unknown call"));
}

}  // namespace
}  // namespace tessera
