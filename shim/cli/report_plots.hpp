// The plots of a run, or of several side by side: where pages were by tag, links, and waiting calls.
//
// Plots of one kind share the axes, and a tag has one colour in all of them, so that runs can be compared by eye.
//
// Thread safety: values.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "html_page.hpp"
#include "run_history.hpp"
#include "svg_plot.hpp"

class ReportPlots {
 public:
  // What the axis of time counts.
  enum class Time { kSinceBegin, kUntilNow };

  // REQUIRES: at least one run, each with slots.
  explicit ReportPlots(std::vector<RunHistory> runs, Time time = Time::kSinceBegin);

  // A run as drawn: more slots than can be told apart are merged.
  const RunHistory& run(std::size_t number) const { return runs_[number]; }

  // One plot for the device and each other kind of memory that was used, and the names of the tags.
  std::string residency() const;
  std::string links() const;   // "" if nothing moved
  std::string stalls() const;  // "" if no call waited

 private:
  using Colours = std::vector<std::pair<std::string, std::string>>;

  void rank_tags();
  double most_in(std::size_t place) const;
  double capacity_of(const RunHistory& run, std::size_t place) const;
  Plot plot_over_time(const std::string& title, double high) const;
  std::string residency_plot(std::size_t number, std::size_t place, double high) const;
  std::string link_plots(std::size_t first, const char* name) const;
  // Beside each other, if there are several.
  std::string row(const std::vector<std::string>& figures) const;

  std::vector<RunHistory> runs_;
  std::vector<std::string> tags_;                         // as shown
  std::vector<std::vector<RunHistory::Tag>> shown_tags_;  // of each run: those of tags_
  const Time time_;
};
