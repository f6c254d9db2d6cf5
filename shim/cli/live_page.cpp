#include "live_page.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "html_page.hpp"
#include "live_history.hpp"
#include "report_plots.hpp"
#include "rounded.hpp"
#include "svg_plot.hpp"

namespace {

constexpr std::size_t kMostDrawn = 32;
constexpr std::uint64_t kFresh = 5'000'000'000;  // nanoseconds; a busy program may take that long

// The scroll position stays, as only the part that changes is replaced.
constexpr const char* kScript = R"(<script nonce="{}">
"use strict";
const view = document.querySelector("main"), state = document.querySelector("#state");
const token = new URLSearchParams(location.search).get("token");
async function update() {{
  try {{
    const answer = await fetch("view", {{headers: {{Authorization: "Bearer " + token}}, cache: "no-store"}});
    if (!answer.ok) throw new Error(answer.status);
    view.innerHTML = await answer.text();
    state.textContent = "live";
  }} catch (error) {{
    state.textContent = "no answer; the last figures are shown. Does tessera top still run?";
  }}
  setTimeout(update, {});
}}
setTimeout(update, {});
</script>
)";

std::string age_of(const LiveView& view, const TopRow& row) {
  const std::uint64_t age = view.now_ns - std::min(view.now_ns, row.written_ns);
  if (age < kFresh) return "";
  return fmt::format("<p>These are its figures of {} ago: it is stopped, or its machine is busy.</p>\n",
                     rounded_seconds(static_cast<double>(age) / 1e9));
}

std::string program_html(const LiveView& view, const LiveProgram& program) {
  std::string text = fmt::format("<section data-pid=\"{}\"><h2>{} ({})</h2>\n{}", program.row.pid,
                                 escaped(program.row.name), program.row.pid, age_of(view, program.row));
  if (!program.history) return text + "<p>Its plots begin with the next update.</p></section>\n";
  const ReportPlots plots({*program.history}, ReportPlots::Time::kUntilNow);
  const std::string links = plots.links(), stalls = plots.stalls();
  text += plots.residency();
  text += links.empty() ? "<p>Nothing was copied lately.</p>\n" : links;
  text += stalls.empty() ? "<p>No call waited lately.</p>\n" : stalls;
  return text + "</section>\n";
}

}  // namespace

std::string live_view_html(const LiveView& view) {
  std::string text;
  std::vector<TopRow> rows;
  for (const LiveProgram& program : view.programs) rows.push_back(program.row);
  text += "<h2>Programs</h2>\n";
  text += rows.empty() ? "<p>No program of this user is running under <code>tessera run</code>.</p>\n"
                       : top_html_table(rows);
  if (!view.shares.programs.empty() || !view.shares.device_programs.empty()) {
    text += "<h2>Shares of the machine</h2>\n" + share_html_tables(view.shares);
  }
  const std::size_t drawn = std::min(view.programs.size(), kMostDrawn);
  for (std::size_t i = 0; i < drawn; ++i) text += program_html(view, view.programs[i]);
  if (drawn < view.programs.size()) {
    text += fmt::format("<p>{} more programs have no plots here.</p>\n", view.programs.size() - drawn);
  }
  return text;
}

std::string live_page(const LiveView& view, double interval, const std::string& nonce) {
  const auto ms = static_cast<int>(interval * 1000);
  return page_head(view.machine, fmt::format("script-src 'nonce-{}'; connect-src 'self'", nonce)) +
         fmt::format(
             "<h1>Tessera on {}</h1>\n<p class=\"faint\"><span id=\"state\">live</span> &middot; updated every {} "
             "&middot; the last {} of each program</p>\n<main>{}</main>\n",
             escaped(view.machine), rounded_seconds(interval), rounded_seconds(interval * LiveHistory::kSlots),
             live_view_html(view)) +
         fmt::format(kScript, nonce, ms, ms) + page_end();
}
