#include "policy_bench_page.hpp"

#include <gmock/gmock.h>

#include "policy_bench_rows.hpp"

namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(PolicyBenchPage, IsSelfContained) {
  const std::string page = policy_bench_page(policy_bench_of({"t"}, {"a", "b"}, {90, 50}, {110, 200, 120, 0}));
  for (const char* const outside : {"http:", "https:", "src=", "href=", "<script", "url(", "@import"}) {
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  }
}

TEST(PolicyBenchPage, HasACurveAndATableForEachTrace) {
  const std::string page = policy_bench_page(policy_bench_of({"t"}, {"a", "b"}, {90, 50}, {110, 200, 120, 0}));
  EXPECT_THAT(page, HasSubstr("<title>a</title>"));
  EXPECT_THAT(page, HasSubstr(">1.100</td>"));
  EXPECT_THAT(page, HasSubstr("<td class=\"none\" title=\"too little\">-</td>"));
  EXPECT_THAT(page, HasSubstr("file 0 B read, 7 B written"));
}

TEST(PolicyBenchPage, AFailedTraceShowsItsReason) {
  PolicyBench bench = policy_bench_of({"<t>"}, {"a"}, {90}, {0});
  bench.traces[0].failure = "line 3 & more";
  const std::string page = policy_bench_page(bench);
  EXPECT_THAT(page, HasSubstr("<h2>&lt;t&gt;</h2>\n<p>line 3 &amp; more</p>"));
}

TEST(PolicyBenchPage, AStepOfNoTimeStaysOnThePlot) {
  PolicyBench bench = policy_bench_of({"t"}, {"a"}, {90}, {5});
  bench.rows[0].step_ns = 0;
  EXPECT_THAT(policy_bench_page(bench), Not(HasSubstr("inf")));
}

}  // namespace
