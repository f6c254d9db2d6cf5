// The common parts of our pages: a single file that loads nothing (it forbids the browser to), readable in light mode,
// in dark mode and on paper.
//
// Thread safety: values.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

// Colours that people with red-green colour blindness can distinguish, on both backgrounds.
inline constexpr std::array<const char*, 8> kPageColours = {"#0072b2", "#e69f00", "#009e73", "#d55e00",
                                                            "#cc79a7", "#56b4e9", "#8a6fbf", "#9a9a9a"};

// The page from the doctype to the heading, and its end. `policy`: what the browser may load all the same, as a
// Content-Security-Policy.
std::string page_head(const std::string& title, const std::string& policy = "");
std::string page_end();

// Names with dots of their colours, for use below a plot.
std::string colour_key(const std::vector<std::pair<std::string, std::string>>& names_and_colours);
