#include "base/call_stack.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera {
namespace {

TEST(CallStack, NamesTheObjectsOnTheCallPath) {
  const std::vector<std::string> stack = call_stack();
  ASSERT_FALSE(stack.empty());
  EXPECT_LE(stack.size(), 32u);
  const auto has = [&](const char* word) {
    return std::any_of(stack.begin(), stack.end(),
                       [&](const std::string& frame) { return frame.find(word) != std::string::npos; });
  };
  EXPECT_TRUE(has("unit_base+0x"));
  EXPECT_TRUE(has("__libc_start_main"));
}

[[gnu::noinline]] std::vector<std::string> deeper(int depth) {
  std::vector<std::string> stack = depth == 0 ? call_stack() : deeper(depth - 1);
  stack.shrink_to_fit();  // prevents a tail call
  return stack;
}

TEST(CallStack, StaysBoundedHoweverDeepTheCallIs) { EXPECT_EQ(deeper(1000).size(), 32u); }

}  // namespace
}  // namespace tessera
