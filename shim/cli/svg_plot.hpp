// A plot of lines and stacked areas as an SVG element, to stand in a page without any script.
//
// Thread safety: stateless.
//
// Invariants: what it is given is escaped; equal input gives equal bytes.
#pragma once

#include <string>
#include <utility>
#include <vector>

struct PlotLine {
  std::string name;    // shown where the pointer rests
  std::string colour;  // "" for a line in the background
  std::vector<std::pair<double, double>> points;
  bool dots = true;    // at its points
};

using Ticks = std::vector<std::pair<double, std::string>>;  // where on an axis, and what stands there

struct Plot {
  std::string title, x_name, y_name;
  Ticks x_ticks, y_ticks;
  double x_low = 0, x_high = 1, y_low = 0, y_high = 1;
  std::vector<PlotLine> lines;  // the last is on top
  std::vector<PlotLine> stack;  // areas on top of each other, under the lines; all with the same x
  std::vector<std::pair<double, std::string>> limits;  // dashed, from side to side
  double width = 560, height = 320;
  bool title_left = false;  // else in the middle
};

// Text as it may stand in HTML and SVG.
std::string escaped(const std::string& text);
// REQUIRES: the ends of each axis differ; areas of one stack have equally many points.
std::string svg_of(const Plot& plot);
