#include "svg_plot.hpp"

#include <gmock/gmock.h>

namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Plot unit_square() {
  Plot plot;
  plot.title = "a < b";
  plot.x_name = "x";
  plot.lines.push_back({"line", "#123456", {{0, 0}, {1, 1}}});
  return plot;
}

TEST(SvgPlot, TheCornersOfTheAxesAreTheCornersOfTheFrame) {
  EXPECT_THAT(svg_of(unit_square()), HasSubstr("points=\"60.0,274.0 544.0,28.0 \""));
}

TEST(SvgPlot, TextIsEscaped) {
  EXPECT_THAT(svg_of(unit_square()), HasSubstr(">a &lt; b<"));
  EXPECT_EQ(escaped("<a href=\"x\">&"), "&lt;a href=&quot;x&quot;&gt;&amp;");
}

TEST(SvgPlot, LinesWithoutAColourStayInTheBackground) {
  Plot plot = unit_square();
  EXPECT_THAT(svg_of(plot), HasSubstr("#123456"));
  plot.lines[0].colour = "";
  EXPECT_THAT(svg_of(plot), HasSubstr("stroke-width=\"1\""));
  EXPECT_THAT(svg_of(plot), Not(HasSubstr("#123456")));
}

TEST(SvgPlot, AnAxisWithoutANameTakesNoRoomForIt) {
  Plot plot = unit_square();
  plot.x_name = "";
  EXPECT_THAT(svg_of(plot), HasSubstr("points=\"60.0,296.0 544.0,28.0 \""));
}

TEST(SvgPlot, AreasOfAStackLieOnTopOfEachOther) {
  Plot plot = unit_square();
  plot.stack = {{"low", "#111111", {{0, 0.5}, {1, 0.5}}}, {"high", "#222222", {{0, 0.5}, {1, 0}}}};
  const std::string svg = svg_of(plot);
  EXPECT_THAT(svg, HasSubstr("points=\"544.0,274.0 60.0,274.0 60.0,151.0 544.0,151.0 \"><title>low<"));
  EXPECT_THAT(svg, HasSubstr("points=\"544.0,151.0 60.0,151.0 60.0,28.0 544.0,151.0 \"><title>high<"));
}

TEST(SvgPlot, ALineMayHaveNoDots) {
  Plot plot = unit_square();
  EXPECT_THAT(svg_of(plot), HasSubstr("<circle"));
  plot.lines[0].dots = false;
  EXPECT_THAT(svg_of(plot), Not(HasSubstr("<circle")));
}

TEST(SvgPlot, TicksStandAtTheirValues) {
  Plot plot = unit_square();
  plot.x_ticks = {{0.5, "half"}};
  EXPECT_THAT(svg_of(plot), HasSubstr("x=\"302.0\" y=\"290.0\" text-anchor=\"middle\" class=\"tick\">half<"));
}

}  // namespace
