// A plot of lines and stacked areas as an SVG element, for pages without scripts.
//
// Thread safety: stateless.
//
// Invariants: text is escaped; equal input gives equal bytes.
#pragma once

#include <string>
#include <utility>
#include <vector>

struct PlotLine {
  std::string name;    // shown on hover
  std::string colour;  // "" for a background line
  std::vector<std::pair<double, double>> points;
  bool dots = true;  // at its points
};

using Ticks = std::vector<std::pair<double, std::string>>;  // position on an axis, label

struct Plot {
  std::string title, x_name, y_name;
  Ticks x_ticks, y_ticks;
  double x_low = 0, x_high = 1, y_low = 0, y_high = 1;
  std::vector<PlotLine> lines;                         // the last one is on top
  std::vector<PlotLine> stack;                         // stacked areas below the lines; all with the same x values
  std::vector<std::pair<double, std::string>> limits;  // dashed horizontal lines
  double width = 560, height = 320;
  bool title_left = false;  // otherwise centred
};

// Text escaped for HTML and SVG.
std::string escaped(const std::string& text);
// REQUIRES: the ends of each axis differ; areas of one stack have the same number of points.
std::string svg_of(const Plot& plot);
