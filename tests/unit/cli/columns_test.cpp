#include "columns.hpp"

#include <gtest/gtest.h>

namespace {

constexpr Column kColumns[] = {{"N", 3}, {"NAME", 5, true}, {"SIZE", 4}};

TEST(Columns, TextIsAligned) {
  EXPECT_EQ(text_header(kColumns), "  N NAME  SIZE\n");
  EXPECT_EQ(text_line(kColumns, {"1", "a", "2"}), "  1 a        2\n");
}

TEST(Columns, HtmlIsEscaped) {
  EXPECT_EQ(html_table(kColumns, {{"1", "<a>", "2"}}),
            "<div class=\"wide lines\"><table><tr><th>N</th><th class=\"left\">NAME</th><th>SIZE</th></tr>\n"
            "<tr><td>1</td><td class=\"left\">&lt;a&gt;</td><td>2</td></tr></table></div>\n");
}

}  // namespace
