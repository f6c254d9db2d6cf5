// A table with one definition of its columns, as text for a terminal and as HTML.
//
// Thread safety: stateless.
#pragma once

#include <span>
#include <string>
#include <vector>

struct Column {
  const char* name;
  int width;  // in text
  bool left = false;
};
using Cells = std::vector<std::string>;  // one for each column

std::string text_header(std::span<const Column> columns);
std::string text_line(std::span<const Column> columns, const Cells& cells);
std::string html_table(std::span<const Column> columns, const std::vector<Cells>& rows);
