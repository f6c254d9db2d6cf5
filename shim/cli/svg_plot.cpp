#include "svg_plot.hpp"

#include <iterator>

#include <fmt/core.h>

namespace {

constexpr double kLeft = 60, kRight = 16, kTop = 28, kBottom = 46;
constexpr double kBottomUnnamed = 24;  // for an axis without a name

class Canvas {
 public:
  explicit Canvas(const Plot& plot) : plot_(plot) {}

  std::string draw() {
    add("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">\n", width_, height_, escaped(plot_.title));
    if (plot_.title_left) {
      text(kLeft, 16, "start", "title", plot_.title);
    } else {
      text(width_ / 2, 18, "middle", "title", plot_.title);
    }
    for (const auto& [at, name] : plot_.x_ticks) {
      rule(x(at), kTop, x(at), height_ - bottom_);
      text(x(at), height_ - bottom_ + 16, "middle", "tick", name);
    }
    for (const auto& [at, name] : plot_.y_ticks) {
      rule(kLeft, y(at), width_ - kRight, y(at));
      text(kLeft - 6, y(at) + 4, "end", "tick", name);
    }
    if (!plot_.x_name.empty()) {
      text((kLeft + width_ - kRight) / 2, height_ - 8, "middle", "axis", plot_.x_name);
    }
    if (!plot_.y_name.empty()) {
      add("<g transform=\"rotate(-90 14 {:.0f})\">", height_ / 2);
      text(14, height_ / 2, "middle", "axis", plot_.y_name);
      add("</g>\n");
    }
    areas();
    for (const auto& [at, name] : plot_.limits) {
      rule(kLeft, y(at), width_ - kRight, y(at), "limit");
      text(width_ - kRight, y(at) - 4, "end", "tick over", name);
    }
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
    return kLeft + (value - plot_.x_low) / (plot_.x_high - plot_.x_low) * (width_ - kLeft - kRight);
  }
  double y(double value) const {
    return height_ - bottom_ - (value - plot_.y_low) / (plot_.y_high - plot_.y_low) * (height_ - kTop - bottom_);
  }
  void text(double at_x, double at_y, const char* anchor, const char* kind, const std::string& said) {
    add("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n", at_x, at_y, anchor, kind,
        escaped(said));
  }
  void rule(double x1, double y1, double x2, double y2, const char* kind = "rule") {
    add("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1, y1, x2, y2, kind);
  }
  // Each area is drawn between the sum of the previous ones and its own top.
  void areas() {
    if (plot_.stack.empty()) return;
    std::vector<double> below(plot_.stack[0].points.size());
    for (const PlotLine& area : plot_.stack) {
      add("<polygon fill=\"{}\" fill-opacity=\"0.85\" points=\"", escaped(area.colour));
      for (std::size_t i = below.size(); i-- > 0;) add("{:.1f},{:.1f} ", x(area.points[i].first), y(below[i]));
      for (std::size_t i = 0; i < below.size(); ++i) {
        below[i] += area.points[i].second;
        add("{:.1f},{:.1f} ", x(area.points[i].first), y(below[i]));
      }
      add("\"><title>{}</title></polygon>\n", escaped(area.name));
    }
  }
  void curve(const PlotLine& line) {
    const bool back = line.colour.empty();
    const std::string colour = back ? "#c8c8c8" : escaped(line.colour);
    add("<g fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"><title>{}</title>\n<polyline points=\"", colour,
        back ? 1 : 2, escaped(line.name));
    for (const auto& [px, py] : line.points) add("{:.1f},{:.1f} ", x(px), y(py));
    add("\"/>\n");
    for (const auto& [px, py] : line.dots ? line.points : decltype(line.points)()) {
      add("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\"/>\n", x(px), y(py), back ? 1.5 : 3.0, colour);
    }
    add("</g>\n");
  }

  const Plot& plot_;
  const double width_ = plot_.width, height_ = plot_.height;
  const double bottom_ = plot_.x_name.empty() ? kBottomUnnamed : kBottom;
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
