#include "limit_probe.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace {

TEST(LimitProbe, KnowsTheLimitsOfThisProcess) {
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlim_t tight = 1ull << 40;
  const rlimit lowered{before.rlim_max == RLIM_INFINITY || before.rlim_max > tight ? tight : before.rlim_max,
                       before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &lowered), 0);
  EXPECT_EQ(probe_limits().file_bytes, lowered.rlim_cur);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(probe_limits().file_bytes.has_value(), before.rlim_cur != RLIM_INFINITY);
  EXPECT_GT(probe_limits().processors, 0);
}

}  // namespace
