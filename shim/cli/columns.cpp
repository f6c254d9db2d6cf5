#include "columns.hpp"

#include <fmt/core.h>

#include "svg_plot.hpp"

std::string text_header(std::span<const Column> columns) {
  Cells names;
  for (const Column& column : columns) names.emplace_back(column.name);
  return text_line(columns, names);
}

std::string text_line(std::span<const Column> columns, const Cells& cells) {
  std::string line;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i != 0) line += ' ';
    line += columns[i].left ? fmt::format("{:<{}}", cells[i], columns[i].width)
                            : fmt::format("{:>{}}", cells[i], columns[i].width);
  }
  return line + "\n";
}

std::string html_table(std::span<const Column> columns, const std::vector<Cells>& rows) {
  const auto place = [&](std::size_t i) { return columns[i].left ? " class=\"left\"" : ""; };
  std::string text = "<div class=\"wide lines\"><table><tr>";
  for (std::size_t i = 0; i < columns.size(); ++i) {
    text += fmt::format("<th{}>{}</th>", place(i), escaped(columns[i].name));
  }
  for (const Cells& cells : rows) {
    text += "</tr>\n<tr>";
    for (std::size_t i = 0; i < columns.size(); ++i) text += fmt::format("<td{}>{}</td>", place(i), escaped(cells[i]));
  }
  return text + "</tr></table></div>\n";
}
