#include "report_page.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

#include "html_page.hpp"
#include "plot_ticks.hpp"
#include "rounded.hpp"
#include "svg_plot.hpp"

namespace {

constexpr std::size_t kShownTags = kPageColours.size() - 1;  // the last colour is for the remaining tags
constexpr std::size_t kShownBlocks = 10;
constexpr std::size_t kShownSlots = 200;
constexpr std::size_t kOtherColour = kPageColours.size() - 1;

struct Cause {
  const char* name;
  std::size_t colour;  // of the link that is waited for, if any
  const char* waited_for;
  const char* remedy;
};
// docs/stats.md describes these in detail.
constexpr Cause kCauses[] = {
    {"copy_in", 0, "fetches from host memory", "prefetch earlier, or more device memory"},
    {"file_read", 2, "loads from the spill file", "more host memory, or a faster disk"},
    {"copy_out", 1, "evictions to host memory that make room", "earlier eviction: policy auto, or a low-watermark"},
    {"file_write", 3, "spills to the file, because host memory is full", "more host memory, or a faster disk"},
    {"work", 4, "queued work that uses blocks to be evicted", "more device memory, or smaller steps"},
    {"other_calls", 6, "calls on other threads that use the memory", "fewer threads with large blocks at once"},
    {"mapping", 7, "unmapping and mapping during these calls", "fewer, larger blocks"},
};

// Statistics of another version may have a cause that is unknown here.
Cause cause_of(const std::string& name) {
  const auto* const found = std::ranges::find(kCauses, name, &Cause::name);
  return found == std::end(kCauses) ? Cause{"", kOtherColour, "", "see docs/stats.md"} : *found;
}

std::string with_blanks(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

std::string seconds_of(double ns) { return ns == 0 ? "0" : rounded_seconds(ns / 1e9); }
std::string bytes_of(double bytes) { return rounded_bytes(static_cast<std::uint64_t>(bytes)); }

class ReportPage {
 public:
  explicit ReportPage(const RunHistory& run) : run_(with_slots(run, kShownSlots)) { rank_tags(); }

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
  using Colours = std::vector<std::pair<std::string, std::string>>;

  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(html_), format, std::forward<Values>(values)...);
  }

  // ---- one axis of time ----
  double begin_of(std::size_t slot) const { return static_cast<double>(slot) * run_.slot_seconds; }
  double end_of(std::size_t slot) const { return std::max(std::min(begin_of(slot + 1), run_.seconds), begin_of(slot)); }
  // Two points per slot, so that a value is drawn over its whole slot.
  template <class Value>
  std::vector<std::pair<double, double>> steps(Value value) const {
    std::vector<std::pair<double, double>> points;
    for (std::size_t i = 0; i < run_.slots(); ++i) {
      points.emplace_back(begin_of(i), value(i));
      points.emplace_back(end_of(i), value(i));
    }
    return points;
  }
  // `amount` of a slot divided by the slot's seconds.
  double rate(double amount, std::size_t slot) const {
    const double seconds = end_of(slot) - begin_of(slot);
    return seconds > 0 ? amount / seconds : 0;
  }
  Plot plot_over_time(const std::string& title, double high) const {
    Plot plot;
    plot.title = title;
    plot.title_left = true;
    plot.width = 1000;
    plot.height = 180;
    plot.x_high = std::max(run_.seconds, run_.slot_seconds * 1e-3);
    plot.x_ticks = ticks_of_seconds(plot.x_high);
    plot.y_high = high;
    return plot;
  }
  void figure(const Plot& plot, const std::string& key) { add("<figure>{}{}</figure>\n", svg_of(plot), key); }

  // ---- sections ----
  void introduction() {
    const auto text = [&](const char* name) {
      const auto value = run_.stats.at("tessera").value(name, nlohmann::ordered_json("?"));
      return escaped(value.is_string() ? value.get<std::string>() : value.dump());
    };
    add("<h1>{}</h1>\n<p class=\"faint\">{} under Tessera {} &middot; policy {} &middot; host memory {}</p>\n",
        escaped(run_.program), rounded_seconds(run_.seconds), text("version"), policies(text("policy")),
        text("host_memory"));
    add("<div class=\"tiles\">\n");
    tile("peak of the program's blocks", run_.figure("blocks", "peak_live_bytes"));
    tile_of_tier("device");
    if (run_.figure("peer", "peer_capacity") > 0) tile_of_tier("peer");
    tile_of_tier("host");
    if (run_.figure("file", "file_capacity") > 0) tile_of_tier("file");
    tile("moved in", run_.figure("moves", "bytes_in"));
    tile("moved out", run_.figure("moves", "bytes_out"));
    add("<div class=\"tile\"><b>{}</b><span>waited, in {} calls</span></div>\n</div>\n",
        seconds_of(static_cast<double>(run_.figure("waits", "stall_ns"))), run_.figure("waits", "stalls"));
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
    const Cause cause = cause_of(main->name);
    return fmt::format(
        "Calls of the program waited {} in total, {:.1f} % of the run; {:.0f} % of that for <b>{}</b>. "
        "What may help: {}.",
        seconds_of(stall_ns), stall_ns / 1e7 / std::max(run_.seconds, 1e-9),
        100 * main->sum() / std::max(stall_ns, 1.0), *cause.waited_for == '\0' ? escaped(main->name) : cause.waited_for,
        cause.remedy);
  }

  // Ranks tags by their average bytes over all tiers; those beyond the number of colours are merged.
  void rank_tags() {
    std::vector<std::pair<double, const RunHistory::Tag*>> ranked;
    for (const RunHistory::Tag& tag : run_.tags) {
      double sum = 0;
      for (const auto& bytes : tag.bytes) sum += std::accumulate(bytes.begin(), bytes.end(), 0.0);
      ranked.emplace_back(sum, &tag);
    }
    std::ranges::stable_sort(ranked, [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [sum, tag] : ranked) {
      if (tags_.size() < kShownTags) {
        tags_.push_back(*tag);
        continue;
      }
      if (tags_.size() == kShownTags) {
        tags_.push_back(*tag);
        tags_.back().name = "all others";
        continue;
      }
      for (std::size_t place = 0; place < tag->bytes.size(); ++place) {
        std::ranges::transform(tags_.back().bytes[place], tag->bytes[place], tags_.back().bytes[place].begin(),
                               std::plus());
      }
    }
  }
  void residency() {
    add("<h2>Residency over time</h2>\n<p class=\"faint\">Pages by the tag of their blocks, counted in the nearest "
        "tier that has them; means over {}. Pages of cached free blocks are included. Host memory has a staging "
        "reserve in addition to its budget, for pages in flight.</p>\n",
        rounded_seconds(run_.slot_seconds));
    Colours key;
    for (std::size_t i = 0; i < tags_.size(); ++i) key.emplace_back(tags_[i].name, kPageColours[i]);
    std::vector<std::size_t> places = {0};  // the device, and every tier that was used
    for (std::size_t place = 1; place < kPlacesOfPages.size(); ++place) {
      if (most_in(place) > 0) places.push_back(place);
    }
    for (const std::size_t place : places) {
      residency_plot(place, kPlacesOfPages[place], place == places.back() ? colour_key(key) : "");
    }
  }
  double most_in(std::size_t place) const {
    std::vector<double> sums(run_.slots());
    for (const RunHistory::Tag& tag : tags_) {
      std::ranges::transform(sums, tag.bytes[place], sums.begin(), std::plus());
    }
    return sums.empty() ? 0 : std::ranges::max(sums);
  }
  void residency_plot(std::size_t place, const char* name, const std::string& key) {
    const std::uint64_t capacity = run_.figure(name, fmt::format("{}_capacity", name).c_str());
    const double most = most_in(place);
    // A budget far above the use would flatten the plot.
    const bool near = static_cast<double>(capacity) < 2 * most || place == 0;
    Plot plot = plot_over_time(std::string_view(name) == "file" ? "in the file" : fmt::format("in {} memory", name),
                               std::max({near ? static_cast<double>(capacity) : 0.0, most, 1.0}) * 1.08);
    plot.y_ticks = ticks_of_bytes(plot.y_high);
    if (near)
      plot.limits.emplace_back(static_cast<double>(capacity), fmt::format("{} allowed", rounded_bytes(capacity)));
    for (std::size_t i = 0; i < tags_.size(); ++i) {
      const auto& bytes = tags_[i].bytes[place];
      plot.stack.push_back({tags_[i].name, kPageColours[i], steps([&](std::size_t slot) { return bytes[slot]; })});
    }
    figure(plot, key);
  }

  void links() {
    add("<h2>Copies</h2>\n");
    const bool device = link_plot(0, "between host and device memory"), file = link_plot(2, "to and from the file"),
               peer = link_plot(4, "between the device and memory of its peers");
    if (!device && !file && !peer) {
      add("<p>None: everything fit.</p>\n");
      return;
    }
    add("<p class=\"faint\">In means from host to device memory. A copy is drawn from the time it was queued to the "
        "time its end was observed.</p>\n");
  }

  // Plots both directions of a link; false if nothing moved.
  bool link_plot(std::size_t first, const char* name) {
    double high = 1;
    Plot plot = plot_over_time(name, 1);
    Colours key;
    for (std::size_t i = first; i < first + 2; ++i) {
      const RunHistory::Series& link = run_.links[i];
      if (link.sum() == 0) continue;
      const auto speed = [&](std::size_t slot) { return rate(link.values[slot], slot); };
      for (std::size_t slot = 0; slot < run_.slots(); ++slot) high = std::max(high, speed(slot));
      plot.lines.push_back({with_blanks(link.name), kPageColours[i], steps(speed), false});
      key.emplace_back(fmt::format("{} {}", with_blanks(link.name), bytes_of(link.sum())), kPageColours[i]);
    }
    if (key.empty()) return false;
    plot.y_high = high * 1.08;
    plot.y_ticks = ticks_of_bytes(plot.y_high, "/s");
    figure(plot, colour_key(key));
    return true;
  }

  void stalls() {
    add("<h2>Stalls of calls</h2>\n");
    if (run_.stalls.empty()) {
      add("<p>None. Work on the device may still have waited: {} pages were not resident when work needed "
          "them.</p>\n",
          run_.figure("waits", "late_fetches"));
      return;
    }
    std::vector<double> sums(run_.slots());
    Plot plot = plot_over_time("waiting calls, share of time", 1);
    Colours key;
    for (const RunHistory::Series& cause : run_.stalls) {
      const auto share = [&](std::size_t slot) { return rate(cause.values[slot], slot) / 1e9; };
      for (std::size_t slot = 0; slot < sums.size(); ++slot) sums[slot] += share(slot);
      const char* const colour = kPageColours[cause_of(cause.name).colour];
      plot.stack.push_back({cause.name, colour, steps(share)});
      key.emplace_back(cause.name, colour);
    }
    plot.y_high = std::max(1.0, std::ranges::max(sums)) * 1.08;
    plot.y_ticks = ticks_of_shares(plot.y_high);
    figure(plot, colour_key(key));
    add("<div class=\"wide\"><table><tr><th>cause</th><th>calls</th><th>time</th><th class=\"left\">share</th>"
        "<th class=\"left\">the call waited for</th><th class=\"left\">what may help</th></tr>\n");
    for (const RunHistory::Series& cause : run_.stalls) stall_row(cause);
    add("</table></div>\n<p class=\"faint\">{} pages were not resident when work needed them; a launch whose bytes "
        "are in flight does not wait itself, its stream does.</p>\n",
        run_.figure("waits", "late_fetches"));
  }
  void stall_row(const RunHistory::Series& stalls) {
    const double all = std::max(1.0, static_cast<double>(run_.figure("waits", "stall_ns")));
    const Cause cause = cause_of(stalls.name);
    add("<tr><td><code>{}</code></td><td>{}</td><td data-sum=\"stall_time_by_cause.{}_ns\" "
        "data-value=\"{:.0f}\">{}</td><td class=\"left\"><span class=\"bar\" "
        "style=\"background:{};width:{:.2f}rem\"></span> {:.0f}&nbsp;%</td>"
        "<td class=\"left\">{}</td><td class=\"left\">{}</td></tr>\n",
        escaped(stalls.name), run_.figure("stalls_by_cause", stalls.name.c_str()), escaped(stalls.name), stalls.sum(),
        seconds_of(stalls.sum()), kPageColours[cause.colour], 4 * stalls.sum() / all, 100 * stalls.sum() / all,
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
          rounded_bytes(b.bytes), seconds_of(static_cast<double>(b.stall_ns)), b.stalls, rounded_bytes(b.in),
          rounded_bytes(b.out), rounded_bytes(b.file_read), rounded_bytes(b.file_written), rounded_bytes(b.peer_in),
          rounded_bytes(b.peer_out));
    }
    add("</table></div>\n");
  }

  void figures() {
    add("<h2>All figures</h2>\n<p class=\"faint\">The statistics at the end, as <code>--stats</code> writes them. "
        "They equal the sums of the plots: ");
    constexpr const char* kSums[] = {"bytes_in",           "bytes_out",     "bytes_file_read",
                                     "bytes_file_written", "bytes_peer_in", "bytes_peer_out"};
    for (std::size_t i = 0; i < run_.links.size(); ++i) {
      add("{}<span data-sum=\"moves.{}\" data-value=\"{:.0f}\">{} {}</span>", i == 0 ? "" : ", ", kSums[i],
          run_.links[i].sum(), with_blanks(kSums[i]), bytes_of(run_.links[i].sum()));
    }
    add(".</p>\n<div class=\"figures\">\n");
    for (const auto& [group, values] : run_.stats.items()) {
      if (!values.empty()) group_table(group, values);
    }
    add("</div>\n");
  }
  void group_table(const std::string& group, const nlohmann::ordered_json& values) {
    add("<table><tr><th>{}</th><th></th></tr>\n", escaped(with_blanks(group)));
    const bool tier = std::ranges::find(kPlacesOfPages, group) != kPlacesOfPages.end();
    for (const auto& [name, value] : values.items()) {
      const bool bytes =
          tier || name.find("bytes") != std::string::npos || (group.find("bytes_by") != std::string::npos);
      const bool time = name.ends_with("_ns");
      add("<tr><td>{}{}</td>", escaped(with_blanks(time ? name.substr(0, name.size() - 3) : name)),
          time ? " time" : "");
      if (!value.is_number_unsigned()) {
        add("<td>{}</td></tr>\n", escaped(value.is_string() ? value.get<std::string>() : value.dump()));
        continue;
      }
      const auto number = value.get<std::uint64_t>();
      const std::string shown = time    ? seconds_of(static_cast<double>(number))
                                : bytes ? rounded_bytes(number)
                                        : fmt::format("{}", number);
      add("<td title=\"{}\" data-figure=\"{}.{}\" data-value=\"{}\">{}</td></tr>\n", number, escaped(group),
          escaped(name), number, shown);
    }
    add("</table>\n");
  }

  const RunHistory run_;
  std::vector<RunHistory::Tag> tags_;  // as shown
  std::string html_;
};

}  // namespace

std::string report_page(const RunHistory& history) { return ReportPage(history).write(); }
