#include "comparison_page.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "html_page.hpp"
#include "report_plots.hpp"
#include "report_text.hpp"
#include "rounded.hpp"
#include "svg_plot.hpp"

namespace {

using Json = nlohmann::ordered_json;

struct Compared {
  const char* group;
  const char* name;
};
// Shown always: what a change of the program, of an option or of Tessera is usually judged by.
constexpr Compared kMain[] = {
    {"moves", "bytes_in"},        {"moves", "bytes_out"},
    {"moves", "bytes_file_read"}, {"moves", "bytes_file_written"},
    {"moves", "bytes_peer_in"},   {"moves", "bytes_peer_out"},
    {"moves", "fetches"},         {"moves", "evictions"},
    {"moves", "clean_evictions"}, {"waits", "stalls"},
    {"waits", "stall_ns"},        {"waits", "late_fetches"},
    {"uses", "launches"},         {"device", "device_peak"},
    {"peer", "peer_peak"},        {"host", "host_peak"},
    {"file", "file_peak"},        {"blocks", "peak_live_bytes"},
};

bool is_main(const std::string& group, const std::string& name) {
  return std::ranges::any_of(kMain, [&](const Compared& main) { return group == main.group && name == main.name; });
}

// How the second differs from the first: "+25.0 %".
std::string change(double first, double second) {
  if (first == second) return "equal";
  if (first == 0) return "from 0";
  return fmt::format("{:+.1f} %", 100 * (second - first) / first);
}

const Json* value_in(const RunHistory& run, const std::string& group, const std::string& name) {
  const auto found = run.stats.find(group);
  if (found == run.stats.end()) return nullptr;
  const auto value = found->find(name);
  return value == found->end() ? nullptr : &*value;
}

std::string as_text(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

class ComparisonPage {
 public:
  ComparisonPage(const RunFile& first, const RunFile& second) : first_(first), second_(second) {}

  std::string write() {
    add("{}", page_head(fmt::format("{} and {}", first_.name, second_.name)));
    introduction();
    main_figures();
    other_figures();
    plots();
    add("{}", page_end());
    return std::move(html_);
  }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(html_), format, std::forward<Values>(values)...);
  }
  bool have_histories() const { return first_.has_history && second_.has_history; }

  void introduction() {
    add("<h1>Two runs</h1>\n<div class=\"pair\"><div>A: <b>{}</b>{}</div><div>B: <b>{}</b>{}</div></div>\n",
        escaped(first_.name), described(first_), escaped(second_.name), described(second_));
  }
  static std::string described(const RunFile& file) {
    const auto fact = [&](const char* name) {
      const Json* const value = value_in(file.run, "tessera", name);
      return value == nullptr ? std::string("?") : escaped(as_text(*value));
    };
    return fmt::format("<br><span class=\"faint\">{}Tessera {} &middot; policy {} &middot; host memory {}</span>",
                       file.has_history
                           ? fmt::format("{}, {} under ", escaped(file.run.program), rounded_seconds(file.run.seconds))
                           : "",
                       fact("version"), fact("policy"), fact("host_memory"));
  }

  void head_of_table(const char* heading) {
    add("<h2>{}</h2>\n<div class=\"wide\"><table><tr><th>figure</th><th>A</th><th>B</th><th>B &minus; A</th>"
        "<th>change</th></tr>\n",
        heading);
  }
  void main_figures() {
    head_of_table("What differs");
    if (have_histories())
      line("run", "seconds", "run time", first_.run.seconds * 1e9, second_.run.seconds * 1e9, time_text);
    for (const auto& [group, name] : kMain) {
      // Memory of peers, or a file, that neither run has.
      if (first_.run.figure(group, name) == 0 && second_.run.figure(group, name) == 0) continue;
      statistic(group, name);
    }
    add("</table></div>\n");
  }
  void other_figures() {
    const auto others = differing();
    if (others.empty()) {
      add("<p>No other figure of the statistics differs.</p>\n");
      return;
    }
    head_of_table("Other figures that differ");
    for (const auto& [group, name] : others) statistic(group, name);
    add("</table></div>\n");
  }
  // Names in the order of the first run, then those that only the second one has.
  std::vector<std::pair<std::string, std::string>> differing() const {
    std::vector<std::pair<std::string, std::string>> names;
    const auto collect = [&](const RunHistory& run, const RunHistory& other, bool only_missing) {
      for (const auto& [group, figures] : run.stats.items()) {
        for (const auto& [name, value] : figures.items()) {
          const Json* const there = value_in(other, group, name);
          const Json nothing = value.is_number() ? Json(0U) : Json("");
          const bool differs = value != (there == nullptr ? nothing : *there);
          if (differs && !is_main(group, name) && !(only_missing && there != nullptr)) names.emplace_back(group, name);
        }
      }
    };
    collect(first_.run, second_.run, false);
    collect(second_.run, first_.run, true);
    return names;
  }

  void statistic(const std::string& group, const std::string& name) {
    const Json* const first = value_in(first_.run, group, name);
    const Json* const second = value_in(second_.run, group, name);
    const auto is_text = [](const Json* value) { return value != nullptr && !value->is_number(); };
    if (is_text(first) || is_text(second)) {
      add("<tr><td>{}</td><td>{}</td><td>{}</td><td></td><td></td></tr>\n", escaped(with_blanks(name)),
          first == nullptr ? "-" : escaped(as_text(*first)), second == nullptr ? "-" : escaped(as_text(*second)));
      return;
    }
    // Parts that one run does not have are zero there.
    const double a = first == nullptr ? 0 : first->get<double>(), b = second == nullptr ? 0 : second->get<double>();
    line(group, name, name_of(group, name), a, b, [&](double value) { return figure_text(group, name, value).value; });
  }
  // Names of parts, such as those of tags, mean nothing without their group.
  static std::string name_of(const std::string& group, const std::string& name) {
    const std::string text = figure_text(group, name, 0).name;
    return group.find("_by_") == std::string::npos ? text : fmt::format("{}: {}", with_blanks(group), text);
  }
  template <class Show>
  void line(const std::string& group, const std::string& name, const std::string& shown, double a, double b,
            Show show) {
    add("<tr><td>{}</td><td title=\"{:.0f}\">{}</td><td title=\"{:.0f}\">{}</td>"
        "<td data-compare=\"{}.{}\" data-first=\"{:.0f}\" data-second=\"{:.0f}\">{}{}</td><td>{}</td></tr>\n",
        escaped(shown), a, show(a), b, show(b), escaped(group), escaped(name), a, b,
        a == b  ? ""
        : b > a ? "+"
                : "&minus;",
        show(std::abs(b - a)), change(a, b));
  }

  void plots() {
    if (!have_histories()) {
      add("<p>There are no plots: {} has statistics only. <code>tessera run --history FILE</code> writes what they "
          "need.</p>\n",
          escaped(first_.has_history ? second_.name : first_.name));
      return;
    }
    const ReportPlots both({first_.run, second_.run});
    add("<p class=\"faint\">Plots of one row have the same axes, A on the left and B on the right; a tag has one "
        "colour in all of them.</p>\n<h2>Residency over time</h2>\n{}",
        both.residency());
    section("Copies", both.links(), "None in either run: everything fit.");
    section("Stalls of calls", both.stalls(), "None in either run.");
  }
  void section(const char* heading, const std::string& plots, const char* otherwise) {
    add("<h2>{}</h2>\n", heading);
    if (plots.empty()) {
      add("<p>{}</p>\n", otherwise);
    } else {
      add("{}", plots);
    }
  }

  const RunFile& first_;
  const RunFile& second_;
  std::string html_;
};

}  // namespace

std::string comparison_page(const RunFile& first, const RunFile& second) {
  return ComparisonPage(first, second).write();
}
