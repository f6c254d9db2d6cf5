#include "league_page.hpp"

#include <gmock/gmock.h>

#include "league_rows.hpp"

namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(LeaguePage, NeedsNothingButItself) {
  const std::string page = league_page(league_of({"t"}, {"a", "b"}, {90, 50}, {110, 200, 120, 0}));
  for (const char* const outside : {"http:", "https:", "src=", "href=", "<script", "url(", "@import"}) {
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  }
}

TEST(LeaguePage, HasACurveAndATableForEachTrace) {
  const std::string page = league_page(league_of({"t"}, {"a", "b"}, {90, 50}, {110, 200, 120, 0}));
  EXPECT_THAT(page, HasSubstr("<title>a</title>"));
  EXPECT_THAT(page, HasSubstr(">1.100</td>"));
  EXPECT_THAT(page, HasSubstr("<td class=\"none\" title=\"too little\">-</td>"));
  EXPECT_THAT(page, HasSubstr("file 0 B read, 7 B written"));
}

TEST(LeaguePage, ATraceThatCannotBePlayedSaysWhy) {
  League league = league_of({"<t>"}, {"a"}, {90}, {0});
  league.traces[0].failure = "line 3 & more";
  const std::string page = league_page(league);
  EXPECT_THAT(page, HasSubstr("<h2>&lt;t&gt;</h2>\n<p>line 3 &amp; more</p>"));
}

TEST(LeaguePage, AStepOfNoTimeStaysOnThePlot) {
  League league = league_of({"t"}, {"a"}, {90}, {5});
  league.rows[0].step_ns = 0;
  EXPECT_THAT(league_page(league), Not(HasSubstr("inf")));
}

}  // namespace
