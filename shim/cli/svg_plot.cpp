#include "svg_plot.hpp"

#include <iterator>

#include <fmt/format.h>

namespace {

constexpr double kWidth = 560, kHeight = 320;
constexpr double kLeft = 60, kRight = 16, kTop = 28, kBottom = 46;

class Canvas {
 public:
  explicit Canvas(const Plot& plot) : plot_(plot) {}

  std::string draw() {
    add("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\">\n", kWidth, kHeight);
    text(kWidth / 2, 18, "middle", "title", plot_.title);
    for (const auto& [at, name] : plot_.x_ticks) {
      rule(x(at), kTop, x(at), kHeight - kBottom);
      text(x(at), kHeight - kBottom + 16, "middle", "tick", name);
    }
    for (const auto& [at, name] : plot_.y_ticks) {
      rule(kLeft, y(at), kWidth - kRight, y(at));
      text(kLeft - 6, y(at) + 4, "end", "tick", name);
    }
    text((kLeft + kWidth - kRight) / 2, kHeight - 8, "middle", "axis", plot_.x_name);
    add("<g transform=\"rotate(-90 14 {:.0f})\">", kHeight / 2);
    text(14, kHeight / 2, "middle", "axis", plot_.y_name);
    add("</g>\n");
    for (const PlotLine& line : plot_.lines) curve(line);
    add("</svg>\n");
    return std::move(svg_);
  }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(svg_), format, std::forward<Values>(values)...);
  }
  double x(double value) const {
    return kLeft + (value - plot_.x_low) / (plot_.x_high - plot_.x_low) * (kWidth - kLeft - kRight);
  }
  double y(double value) const {
    return kHeight - kBottom -
           (value - plot_.y_low) / (plot_.y_high - plot_.y_low) * (kHeight - kTop - kBottom);
  }
  void text(double at_x, double at_y, const char* anchor, const char* kind, const std::string& said) {
    add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n", at_x, at_y,
        anchor, kind, escaped(said));
  }
  void rule(double x1, double y1, double x2, double y2) {
    add("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"rule\"/>\n", x1, y1, x2,
        y2);
  }
  void curve(const PlotLine& line) {
    const bool back = line.colour.empty();
    const std::string colour = back ? "#c8c8c8" : escaped(line.colour);
    add("<g fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"><title>{}</title>\n<polyline points=\"",
        colour, back ? 1 : 2, escaped(line.name));
    for (const auto& [px, py] : line.points) add("{:.1f},{:.1f} ", x(px), y(py));
    add("\"/>\n");
    for (const auto& [px, py] : line.points) {
      add("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\"/>\n", x(px), y(py),
          back ? 1.5 : 3.0, colour);
    }
    add("</g>\n");
  }

  const Plot& plot_;
  std::string svg_;
};

}  // namespace

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string svg_of(const Plot& plot) { return Canvas(plot).draw(); }
