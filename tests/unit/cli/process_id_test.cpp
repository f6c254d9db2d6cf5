#include "process_id.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace {

TEST(ProcessId, IsAWholeNumberAboveZero) {
  const CLI::Validator check = is_process_id();
  for (const char* const pid : {"1", "4194304"}) EXPECT_EQ(check(pid), "") << pid;
  for (const char* const other : {"", "0", "-1", "12x", "python", "99999999999"}) {
    EXPECT_EQ(check(other),
              fmt::format("'{}' is not a process id; `tessera top` lists those of running programs", other));
  }
}

}  // namespace
