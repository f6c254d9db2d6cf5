#include "report_page.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/core.h>

#include "html_page.hpp"
#include "report_plots.hpp"
#include "report_text.hpp"
#include "rounded.hpp"
#include "svg_plot.hpp"

namespace {

constexpr std::size_t kShownBlocks = 10;

class ReportPage {
 public:
  explicit ReportPage(const RunHistory& run) : plots_({run}), run_(plots_.run(0)) {}

  std::string write() {
    add("{}", page_head(run_.program));
    introduction();
    residency();
    links();
    stalls();
    blocks();
    figures();
    add("{}", page_end());
    return std::move(html_);
  }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(html_), format, std::forward<Values>(values)...);
  }

  void introduction() {
    const auto text = [&](const char* name) {
      const auto value = run_.stats.at("tessera").value(name, nlohmann::ordered_json("?"));
      return escaped(value.is_string() ? value.get<std::string>() : value.dump());
    };
    add("<h1>{}</h1>\n<p class=\"faint\">{} under Tessera {} &middot; policy {} &middot; host memory {}</p>\n",
        escaped(run_.program), rounded_seconds(run_.seconds), text("version"), policies(text("policy")),
        text("host_memory"));
    if (run_.part_from) {
      add("<p class=\"faint\">A part of the run, from {} on. Counts, times and copies are those of the part; sizes are "
          "those at its end, and peaks those since the run began.</p>\n",
          rounded_seconds(*run_.part_from));
    }
    add("<div class=\"tiles\">\n");
    tile("peak of the program's blocks", run_.figure("blocks", "peak_live_bytes"));
    tile_of_tier("device");
    if (run_.figure("peer", "peer_capacity") > 0) tile_of_tier("peer");
    tile_of_tier("host");
    if (run_.figure("file", "file_capacity") > 0) tile_of_tier("file");
    tile("moved in", run_.figure("moves", "bytes_in"));
    tile("moved out", run_.figure("moves", "bytes_out"));
    add("<div class=\"tile\"><b>{}</b><span>waited, in {} calls</span></div>\n</div>\n",
        time_text(static_cast<double>(run_.figure("waits", "stall_ns"))), run_.figure("waits", "stalls"));
    add("<p>{}</p>\n", verdict());
    outside();
  }
  // Nothing if most of the program's memory was in the heap.
  void outside() {
    const std::uint64_t peak = run_.figure("outside", "outside_peak");
    if (peak <= run_.figure("blocks", "peak_live_bytes")) return;
    add("<p>Most of the program's device memory was <b>outside the heap</b> and did not move: {} at the peak; the "
        "table of all figures has its kinds and the calls. See docs/frameworks.md.</p>\n",
        rounded_bytes(peak));
  }
  // The policies in use over time; if there was only one, the policy named by the statistics.
  std::string policies(std::string last) const {
    if (run_.policies.size() <= 1) return last;
    constexpr std::size_t kMost = 8;
    std::string turns = escaped(run_.policies.front().name);
    for (std::size_t i = 1; i < std::min(run_.policies.size(), kMost); ++i) {
      turns += fmt::format(", from {} {}", rounded_seconds(run_.policies[i].from), escaped(run_.policies[i].name));
    }
    if (run_.policies.size() > kMost) turns += fmt::format(", {} more, now {}", run_.policies.size() - kMost, last);
    return turns;
  }
  void tile(const char* name, std::uint64_t bytes) {
    add("<div class=\"tile\"><b title=\"{} bytes\">{}</b><span>{}</span></div>\n", bytes, rounded_bytes(bytes), name);
  }
  void tile_of_tier(const char* tier) {
    const auto get = [&](const char* what) { return run_.figure(tier, fmt::format("{}_{}", tier, what).c_str()); };
    add("<div class=\"tile\"><b>{}</b><span>{} memory peak, of {}</span></div>\n", rounded_bytes(get("peak")), tier,
        rounded_bytes(get("capacity")));
  }
  std::string verdict() const {
    const auto stall_ns = static_cast<double>(run_.figure("waits", "stall_ns"));
    if (run_.stalls.empty()) return "No call of the program waited for a copy.";
    const auto main = std::ranges::max_element(run_.stalls, {}, &RunHistory::Series::sum);
    const StallRemedy cause = stall_remedy(main->name);
    return fmt::format(
        "Calls of the program waited {} in total, {:.1f} % of the run; {:.0f} % of that for <b>{}</b>. "
        "What may help: {}.",
        time_text(stall_ns), stall_ns / 1e7 / std::max(run_.seconds, 1e-9), 100 * main->sum() / std::max(stall_ns, 1.0),
        *cause.waited_for == '\0' ? escaped(main->name) : cause.waited_for, cause.remedy);
  }

  void residency() {
    add("<h2>Residency over time</h2>\n<p class=\"faint\">Pages by the tag of their blocks, counted in the nearest "
        "tier that has them; means over {}. Pages of cached free blocks are included. Host memory has a staging "
        "reserve in addition to its budget, for pages in flight.</p>\n{}",
        rounded_seconds(run_.slot_seconds), plots_.residency());
  }
  void links() {
    const std::string plots = plots_.links();
    add("<h2>Copies</h2>\n{}", plots);
    if (plots.empty()) {
      add("<p>None: everything fit.</p>\n");
      return;
    }
    add("<p class=\"faint\">In means from host to device memory. A copy is drawn from the time it was queued to the "
        "time its end was observed.</p>\n");
  }

  void stalls() {
    add("<h2>Stalls of calls</h2>\n");
    if (run_.stalls.empty()) {
      add("<p>None. Work on the device may still have waited: {} pages were not resident when work needed "
          "them.</p>\n",
          run_.figure("waits", "late_fetches"));
      return;
    }
    add("{}", plots_.stalls());
    add("<div class=\"wide\"><table><tr><th>cause</th><th>calls</th><th>time</th><th class=\"left\">share</th>"
        "<th class=\"left\">the call waited for</th><th class=\"left\">what may help</th></tr>\n");
    for (const RunHistory::Series& cause : run_.stalls) stall_row(cause);
    add("</table></div>\n<p class=\"faint\">{} pages were not resident when work needed them; a launch whose bytes "
        "are in flight does not wait itself, its stream does.</p>\n",
        run_.figure("waits", "late_fetches"));
  }
  void stall_row(const RunHistory::Series& stalls) {
    const double all = std::max(1.0, static_cast<double>(run_.figure("waits", "stall_ns")));
    const StallRemedy cause = stall_remedy(stalls.name);
    add("<tr><td><code>{}</code></td><td>{}</td><td data-sum=\"stall_time_by_cause.{}_ns\" "
        "data-value=\"{:.0f}\">{}</td><td class=\"left\"><span class=\"bar\" "
        "style=\"background:{};width:{:.2f}rem\"></span> {:.0f}&nbsp;%</td>"
        "<td class=\"left\">{}</td><td class=\"left\">{}</td></tr>\n",
        escaped(stalls.name), run_.figure("stalls_by_cause", stalls.name.c_str()), escaped(stalls.name), stalls.sum(),
        time_text(stalls.sum()), kPageColours[cause.colour], 4 * stalls.sum() / all, 100 * stalls.sum() / all,
        cause.waited_for, cause.remedy);
  }

  void blocks() {
    add("<h2>The ten costliest blocks</h2>\n");
    if (run_.blocks.empty()) {
      add("<p>None: nothing was copied.</p>\n");
      return;
    }
    add("<p class=\"faint\">Ordered by the time that calls waited for them, then by bytes copied. Blocks that had "
        "the same address one after the other, or share a page, are counted together.</p>\n"
        "<div class=\"wide\"><table><tr><th>address</th><th class=\"left\">tag</th>"
        "<th>size</th><th>waited</th><th>calls</th><th>in</th><th>out</th><th>file read</th><th>file written</th>"
        "<th>peer in</th><th>peer out</th></tr>\n");
    for (std::size_t i = 0; i < std::min(kShownBlocks, run_.blocks.size()); ++i) {
      const RunHistory::Block& b = run_.blocks[i];
      add("<tr><td><code>{}</code></td><td class=\"left\">{}{}</td><td>{}</td><td>{}</td><td>{}</td>"
          "<td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
          escaped(b.address), escaped(b.tag), b.gone ? " <span class=\"faint\">(freed)</span>" : "",
          rounded_bytes(b.bytes), time_text(static_cast<double>(b.stall_ns)), b.stalls, rounded_bytes(b.in),
          rounded_bytes(b.out), rounded_bytes(b.file_read), rounded_bytes(b.file_written), rounded_bytes(b.peer_in),
          rounded_bytes(b.peer_out));
    }
    add("</table></div>\n");
  }

  void figures() {
    add("<h2>All figures</h2>\n<p class=\"faint\">The statistics at the end, as <code>--stats</code> writes them. "
        "They equal the sums of the plots: ");
    for (std::size_t i = 0; i < run_.links.size(); ++i) {
      add("{}<span data-sum=\"moves.{}\" data-value=\"{:.0f}\">{} {}</span>", i == 0 ? "" : ", ", kHistoryLinkSums[i],
          run_.links[i].sum(), with_blanks(kHistoryLinkSums[i]), bytes_text(run_.links[i].sum()));
    }
    add(".</p>\n<div class=\"figures\">\n");
    for (const auto& [group, values] : run_.stats.items()) {
      if (!values.empty()) group_table(group, values);
    }
    add("</div>\n");
  }
  void group_table(const std::string& group, const nlohmann::ordered_json& values) {
    add("<table><tr><th>{}</th><th></th></tr>\n", escaped(with_blanks(group)));
    for (const auto& [name, value] : values.items()) {
      const bool counts = value.is_number_unsigned();
      const FigureText text = figure_text(group, name, counts ? value.get<double>() : 0);
      if (!counts) {
        add("<tr><td>{}</td><td>{}</td></tr>\n", escaped(text.name),
            escaped(value.is_string() ? value.get<std::string>() : value.dump()));
        continue;
      }
      const auto number = value.get<std::uint64_t>();
      add("<tr><td>{}</td><td title=\"{}\" data-figure=\"{}.{}\" data-value=\"{}\">{}</td></tr>\n", escaped(text.name),
          number, escaped(group), escaped(name), number, text.value);
    }
    add("</table>\n");
  }

  const ReportPlots plots_;
  const RunHistory& run_;  // as drawn
  std::string html_;
};

}  // namespace

std::string report_page(const RunHistory& history) { return ReportPage(history).write(); }
