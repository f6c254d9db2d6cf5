#include "live_page.hpp"

#include <gmock/gmock.h>

#include <cstring>

#include "sample_history.hpp"

namespace {

using ::testing::HasSubstr;
using ::testing::Not;

LiveView live_sample() {
  LiveProgram program;
  program.row.pid = 42;
  program.row.name = "<train>";
  program.row.written_ns = 10'000'000'000;
  program.row.stats = {{"device", {{"device_used", 96 << 20}, {"device_capacity", 128 << 20}}}};
  RunHistory history;
  EXPECT_EQ(parse_history(sample_history().dump(), history), "");
  program.history = history;
  LiveView view;
  view.machine = "a&b";
  view.now_ns = program.row.written_ns;
  view.programs = {program};
  return view;
}

TEST(LivePage, HasTheTableAndThePlotsOfEachProgram) {
  const std::string html = live_view_html(live_sample());
  EXPECT_THAT(html, HasSubstr("<td>96.0 MiB / 128 MiB</td>"));
  EXPECT_THAT(html, HasSubstr("<section data-pid=\"42\"><h2>&lt;train&gt; (42)</h2>"));
  for (const char* const plot : {"in device memory", "in host memory", "between host and device", "waiting calls"}) {
    EXPECT_THAT(html, HasSubstr(plot));
  }
  EXPECT_THAT(html, HasSubstr(">now<"));
  EXPECT_THAT(html, Not(HasSubstr("<train>")));
  EXPECT_THAT(html, Not(HasSubstr("Shares of the machine")));
}

TEST(LivePage, ANewProgramHasNoPlotsYetAndAStoppedOneIsCalledSo) {
  LiveView view = live_sample();
  view.programs[0].history.reset();
  EXPECT_THAT(live_view_html(view), HasSubstr("begin with the next update"));
  EXPECT_THAT(live_view_html(view), Not(HasSubstr("it is stopped")));
  view.now_ns += 12'000'000'000;
  EXPECT_THAT(live_view_html(view), HasSubstr("figures of 12.0 s ago: it is stopped"));
}

TEST(LivePage, SharesOfTheMachineAreShownIfThereAreAny) {
  LiveView view = live_sample();
  tessera_node_program sharing{};
  sharing.pid = 42;
  std::strcpy(sharing.name, "a<b");
  sharing.held.host = 64 << 20;
  view.shares.programs = {sharing};
  view.shares.budgets.host = 1 << 30;
  EXPECT_THAT(live_view_html(view), HasSubstr("Shares of the machine"));
  EXPECT_THAT(live_view_html(view), HasSubstr("<td class=\"left\">a&lt;b</td>"));
  EXPECT_THAT(live_view_html(view), HasSubstr("<td>1.00 GiB</td>"));
}

TEST(LivePage, WithoutProgramsItIsASentence) {
  EXPECT_THAT(live_view_html({}), HasSubstr("No program of this user is running under <code>tessera run</code>"));
}

TEST(LivePage, OnlyTheFirstProgramsAreDrawn) {
  LiveView view = live_sample();
  view.programs.resize(36, view.programs[0]);
  const std::string html = live_view_html(view);
  EXPECT_THAT(html, HasSubstr("4 more programs have no plots here"));
  std::size_t sections = 0;
  for (std::size_t at = html.find("<section"); at != html.npos; at = html.find("<section", at + 1)) ++sections;
  EXPECT_EQ(sections, 32U);
}

TEST(LivePage, IsOneFileThatLoadsNothingButItself) {
  const std::string page = live_page(live_sample(), 0.5, "the-nonce");
  for (const char* const outside : {"http:", "https:", "src=", "href=", "url(", "@import"}) {
    EXPECT_THAT(page, Not(HasSubstr(outside)));
  }
  EXPECT_THAT(page, HasSubstr("default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-the-nonce'; "
                              "connect-src 'self'"));
  EXPECT_THAT(page, HasSubstr("<script nonce=\"the-nonce\">"));
  EXPECT_THAT(page, HasSubstr("setTimeout(update, 500)"));
  EXPECT_THAT(page, HasSubstr("<h1>Tessera on a&amp;b</h1>"));
  EXPECT_THAT(page, HasSubstr("<main>" + live_view_html(live_sample()) + "</main>"));
}

}  // namespace
