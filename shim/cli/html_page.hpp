// What our pages share: one file that loads nothing (it forbids the browser to), readable in light and in
// dark, and on paper.
//
// Thread safety: values.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

// Colours that people with weak sight for red or green tell apart, on both grounds.
inline constexpr std::array<const char*, 8> kPageColours = {
    "#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#8a6fbf", "#9a9a9a"};

// From the doctype to the heading, and what ends the page.
std::string page_head(const std::string& title);
std::string page_end();

// Names beside dots of their colours, to stand under a plot.
std::string colour_key(const std::vector<std::pair<std::string, std::string>>& names_and_colours);
