#include "csv_field.hpp"

#include <gtest/gtest.h>

namespace {

TEST(CsvField, OnlyWhatSeparatesFieldsIsQuoted) {
  EXPECT_EQ(csv_field("gpt2 at 50%"), "gpt2 at 50%");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("two\nlines"), "\"two\nlines\"");
  EXPECT_EQ(csv_field("\"no\""), "\"\"\"no\"\"\"");
  EXPECT_EQ(csv_field(""), "");
}

}  // namespace
