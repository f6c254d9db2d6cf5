#include "report_plots.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include <fmt/core.h>

#include "plot_ticks.hpp"
#include "report_text.hpp"
#include "rounded.hpp"

namespace {

constexpr std::size_t kShownTags = kPageColours.size() - 1;  // the last colour is for the remaining tags
constexpr std::size_t kShownSlots = 200;
constexpr double kHeadroom = 1.08;

double begin_of(const RunHistory& run, std::size_t slot) { return static_cast<double>(slot) * run.slot_seconds; }
double end_of(const RunHistory& run, std::size_t slot) {
  return std::max(std::min(begin_of(run, slot + 1), run.seconds), begin_of(run, slot));
}

// Two points per slot, so that a value is drawn over its whole slot.
template <class Value>
std::vector<std::pair<double, double>> steps(const RunHistory& run, Value value) {
  std::vector<std::pair<double, double>> points;
  for (std::size_t i = 0; i < run.slots(); ++i) {
    points.emplace_back(begin_of(run, i), value(i));
    points.emplace_back(end_of(run, i), value(i));
  }
  return points;
}

// `amount` of a slot divided by the slot's seconds.
double rate(const RunHistory& run, double amount, std::size_t slot) {
  const double seconds = end_of(run, slot) - begin_of(run, slot);
  return seconds > 0 ? amount / seconds : 0;
}

double highest_rate(const RunHistory& run, const std::vector<double>& values) {
  double high = 0;
  for (std::size_t slot = 0; slot < values.size(); ++slot) high = std::max(high, rate(run, values[slot], slot));
  return high;
}

void add_to(std::vector<double>& sums, const std::vector<double>& values) {
  std::ranges::transform(sums, values, sums.begin(), std::plus());
}

double sum_of(const RunHistory::Tag& tag) {
  double sum = 0;
  for (const auto& bytes : tag.bytes) sum += std::accumulate(bytes.begin(), bytes.end(), 0.0);
  return sum;
}

RunHistory::Tag empty_tag(const std::string& name, std::size_t slots) {
  RunHistory::Tag tag{name, {}};
  tag.bytes.fill(std::vector<double>(slots));
  return tag;
}

std::vector<double> waits_of(const RunHistory& run) {
  std::vector<double> sums(run.slots());
  for (const RunHistory::Series& cause : run.stalls) add_to(sums, cause.values);
  return sums;
}

std::string figure(const Plot& plot, const std::string& key) {
  return fmt::format("<figure>{}{}</figure>\n", svg_of(plot), key);
}

}  // namespace

ReportPlots::ReportPlots(std::vector<RunHistory> runs, Time time) : runs_(std::move(runs)), time_(time) {
  for (RunHistory& run : runs_) run = with_slots(std::move(run), kShownSlots);
  rank_tags();
}

// By their average bytes over all tiers of all runs; those beyond the number of colours are merged.
void ReportPlots::rank_tags() {
  std::vector<std::pair<double, std::string>> ranked;
  for (const RunHistory& run : runs_) {
    for (const RunHistory::Tag& tag : run.tags) {
      const auto known = std::ranges::find(ranked, tag.name, &std::pair<double, std::string>::second);
      const double mean = sum_of(tag) / static_cast<double>(std::max<std::size_t>(run.slots(), 1));
      if (known == ranked.end()) {
        ranked.emplace_back(mean, tag.name);
      } else {
        known->first += mean;
      }
    }
  }
  std::ranges::stable_sort(ranked, std::greater(), &std::pair<double, std::string>::first);
  for (std::size_t i = 0; i < std::min(ranked.size(), kShownTags); ++i) tags_.push_back(ranked[i].second);
  const std::size_t named = tags_.size();
  if (ranked.size() > named) tags_.emplace_back("all others");
  for (const RunHistory& run : runs_) {
    auto& shown = shown_tags_.emplace_back();
    for (const std::string& name : tags_) shown.push_back(empty_tag(name, run.slots()));
    for (const RunHistory::Tag& tag : run.tags) {
      const auto end = tags_.begin() + static_cast<std::ptrdiff_t>(named);
      const auto at = static_cast<std::size_t>(std::find(tags_.begin(), end, tag.name) - tags_.begin());
      for (std::size_t place = 0; place < kPlacesOfPages.size(); ++place) {
        add_to(shown[at].bytes[place], tag.bytes[place]);
      }
    }
  }
}

double ReportPlots::most_in(std::size_t place) const {
  double most = 0;
  for (std::size_t number = 0; number < runs_.size(); ++number) {
    std::vector<double> sums(runs_[number].slots());
    for (const RunHistory::Tag& tag : shown_tags_[number]) add_to(sums, tag.bytes[place]);
    if (!sums.empty()) most = std::max(most, std::ranges::max(sums));
  }
  return most;
}

double ReportPlots::capacity_of(const RunHistory& run, std::size_t place) const {
  const char* const name = kPlacesOfPages[place];
  const auto capacity = static_cast<double>(run.figure(name, fmt::format("{}_capacity", name).c_str()));
  // A budget far above the use would flatten the plot.
  return place == 0 || capacity < 2 * most_in(place) ? capacity : 0;
}

Plot ReportPlots::plot_over_time(const std::string& title, double high) const {
  Plot plot;
  plot.title = title;
  plot.title_left = true;
  plot.width = runs_.size() == 1 ? 1000 : 520;
  plot.height = 180;
  plot.x_high = 0;
  for (const RunHistory& run : runs_) plot.x_high = std::max({plot.x_high, run.seconds, run.slot_seconds * 1e-3});
  plot.x_ticks = ticks_of_seconds(plot.x_high);
  if (time_ == Time::kUntilNow) {
    for (auto& [at, name] : plot.x_ticks) {
      name = at == 0 ? "now" : "-" + name;
      at = plot.x_high - at;
    }
  }
  plot.y_high = high;
  return plot;
}

std::string ReportPlots::row(const std::vector<std::string>& figures) const {
  if (figures.size() == 1) return figures[0];
  std::string text = "<div class=\"pair\">";
  for (const std::string& each : figures) text += fmt::format("<div>{}</div>", each);
  return text + "</div>\n";
}

std::string ReportPlots::residency() const {
  std::string text;
  for (std::size_t place = 0; place < kPlacesOfPages.size(); ++place) {
    const double most = most_in(place);
    if (place != 0 && most == 0) continue;  // a memory that was not used
    double high = std::max(most, 1.0);
    for (const RunHistory& run : runs_) high = std::max(high, capacity_of(run, place));
    std::vector<std::string> figures;
    for (std::size_t number = 0; number < runs_.size(); ++number) {
      figures.push_back(residency_plot(number, place, high * kHeadroom));
    }
    text += row(figures);
  }
  Colours key;
  for (std::size_t i = 0; i < tags_.size(); ++i) key.emplace_back(tags_[i], kPageColours[i]);
  return text + colour_key(key);
}

std::string ReportPlots::residency_plot(std::size_t number, std::size_t place, double high) const {
  const RunHistory& run = runs_[number];
  const char* const name = kPlacesOfPages[place];
  Plot plot =
      plot_over_time(place + 1 == kPlacesOfPages.size() ? "in the file" : fmt::format("in {} memory", name), high);
  plot.y_ticks = ticks_of_bytes(plot.y_high);
  if (const double capacity = capacity_of(run, place); capacity > 0 || place == 0) {
    plot.limits.emplace_back(capacity, fmt::format("{} allowed", bytes_text(capacity)));
  }
  for (std::size_t i = 0; i < tags_.size(); ++i) {
    const auto& bytes = shown_tags_[number][i].bytes[place];
    plot.stack.push_back({tags_[i], kPageColours[i], steps(run, [&](std::size_t slot) { return bytes[slot]; })});
  }
  return figure(plot, "");
}

std::string ReportPlots::links() const {
  return link_plots(0, "between host and device memory") + link_plots(2, "to and from the file") +
         link_plots(4, "between the device and memory of its peers");
}

// Both directions of a link; "" if nothing moved.
std::string ReportPlots::link_plots(std::size_t first, const char* name) const {
  double high = 0;
  for (const RunHistory& run : runs_) {
    for (std::size_t i = first; i < first + 2; ++i) high = std::max(high, highest_rate(run, run.links[i].values));
  }
  if (high == 0) return "";
  std::vector<std::string> figures;
  for (const RunHistory& run : runs_) {
    Plot plot = plot_over_time(name, std::max(high, 1.0) * kHeadroom);
    plot.y_ticks = ticks_of_bytes(plot.y_high, "/s");
    Colours key;
    for (std::size_t i = first; i < first + 2; ++i) {
      const RunHistory::Series& link = run.links[i];
      if (link.sum() == 0) continue;
      const auto speed = [&](std::size_t slot) { return rate(run, link.values[slot], slot); };
      plot.lines.push_back({with_blanks(link.name), kPageColours[i], steps(run, speed), false});
      key.emplace_back(fmt::format("{} {}", with_blanks(link.name), bytes_text(link.sum())), kPageColours[i]);
    }
    figures.push_back(figure(plot, colour_key(key)));
  }
  return row(figures);
}

std::string ReportPlots::stalls() const {
  const auto waits = [](const RunHistory& run) { return !run.stalls.empty(); };
  if (std::ranges::none_of(runs_, waits)) return "";
  double high = 1;
  for (const RunHistory& run : runs_) high = std::max(high, highest_rate(run, waits_of(run)) / 1e9);
  std::vector<std::string> figures;
  for (const RunHistory& run : runs_) {
    Plot plot = plot_over_time("waiting calls, share of time", high * kHeadroom);
    plot.y_ticks = ticks_of_shares(plot.y_high);
    Colours key;
    for (const RunHistory::Series& cause : run.stalls) {
      const auto share = [&](std::size_t slot) { return rate(run, cause.values[slot], slot) / 1e9; };
      const char* const colour = kPageColours[stall_remedy(cause.name).colour];
      plot.stack.push_back({cause.name, colour, steps(run, share)});
      key.emplace_back(cause.name, colour);
    }
    figures.push_back(figure(plot, colour_key(key)));
  }
  return row(figures);
}
