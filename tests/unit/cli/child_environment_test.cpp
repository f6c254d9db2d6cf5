#include "child_environment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace {

TEST(ChildEnvironment, StartsAsACopyOfOurs) {
  ::setenv("CHILD_ENVIRONMENT_TEST", "a=b", 1);
  EXPECT_EQ(ChildEnvironment().get("CHILD_ENVIRONMENT_TEST"), "a=b");
  ::unsetenv("CHILD_ENVIRONMENT_TEST");
}

TEST(ChildEnvironment, PrependingKeepsWhatWasThereAndIsDoneOnce) {
  ChildEnvironment environment;
  environment.remove("X");
  environment.prepend("X", "/one");
  EXPECT_EQ(environment.get("X"), "/one");
  environment.prepend("X", "/two");
  EXPECT_EQ(environment.get("X"), "/two:/one");
  environment.prepend("X", "/two");
  EXPECT_EQ(environment.get("X"), "/two:/one");
}

TEST(ChildEnvironment, IsHandedToExecAsLinesWithANullAtTheEnd) {
  ChildEnvironment environment;
  environment.set("CHILD_ENVIRONMENT_TEST", "1");
  const auto lines = environment.for_exec();
  ASSERT_EQ(lines.back(), nullptr);
  EXPECT_EQ(std::count_if(lines.begin(), lines.end() - 1,
                          [](const char* line) { return std::strcmp(line, "CHILD_ENVIRONMENT_TEST=1") == 0; }),
            1);
}

}  // namespace
