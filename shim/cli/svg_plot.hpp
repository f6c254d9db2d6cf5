// A plot of lines as an SVG element, to stand in a page without any script.
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
};

struct Plot {
  std::string title, x_name, y_name;
  std::vector<std::pair<double, std::string>> x_ticks, y_ticks;
  double x_low = 0, x_high = 1, y_low = 0, y_high = 1;
  std::vector<PlotLine> lines;  // the last is on top
};

// Text as it may stand in HTML and SVG.
std::string escaped(const std::string& text);
// REQUIRES: the ends of each axis differ.
std::string svg_of(const Plot& plot);
