#include "html_page.hpp"

#include <fmt/core.h>

#include "svg_plot.hpp"

namespace {

constexpr const char* kStyle = R"(<style>
:root{color-scheme:light dark;--ink:#1c2127;--faint:#5d6773;--rule:#e4e7eb;--ground:#fff;--panel:#f5f6f8;
--best:#dff2e1;--bar:#0072b2}
@media (prefers-color-scheme:dark){:root{--ink:#e4e7ea;--faint:#98a2ae;--rule:#2b323a;--ground:#14181c;
--panel:#1c2127;--best:#1d3a25;--bar:#56b4e9}}
body{font:15px/1.5 system-ui,sans-serif;max-width:64rem;margin:2.5rem auto;padding:0 1.25rem;color:var(--ink);
background:var(--ground)}
h1{font-size:1.7rem;line-height:1.2;margin:0 0 .3rem;letter-spacing:-.01em}
h2{font-size:1.15rem;margin:2.6rem 0 .4rem}
p{margin:.3rem 0 .8rem;max-width:46rem}
.faint,figcaption{color:var(--faint);font-size:13px}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:13px;margin:.4rem 0}
th,td{padding:.28rem .8rem .28rem 0;text-align:right;border-bottom:1px solid var(--rule);vertical-align:baseline}
th{color:var(--faint);font-weight:500}
th:first-child,td:first-child,.left{text-align:left}
td:last-child,th:last-child{padding-right:0}
code{font:12.5px ui-monospace,monospace}
td.best{background:var(--best);font-weight:600}
td.none{color:var(--faint)}
.wide{overflow-x:auto}
.lines{white-space:nowrap}
.pair{display:flex;flex-wrap:wrap;gap:2rem;align-items:flex-start}
.pair>div{flex:1 1 26rem}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(7.6rem,1fr));gap:.6rem;margin:1.2rem 0}
.tile{background:var(--panel);border-radius:8px;padding:.6rem .8rem}
.tile b{display:block;font-size:1.15rem;font-weight:600;font-variant-numeric:tabular-nums}
.tile span{color:var(--faint);font-size:12.5px}
.figures{columns:20rem;column-gap:2.5rem}
.figures table{width:100%;break-inside:avoid;margin:0 0 1.1rem}
figure{margin:1.1rem 0}
svg{width:100%;height:auto;display:block}
svg text{font-family:system-ui,sans-serif;fill:var(--faint)}
svg .title{font-size:13px;font-weight:600;fill:var(--ink)}
svg .tick,svg .axis{font-size:11px}
svg .rule{stroke:var(--rule)}
svg .limit{stroke:var(--faint);stroke-dasharray:4 3}
svg .over{stroke:var(--ground);stroke-width:3px;paint-order:stroke}
.key{margin:.2rem 0 0;font-size:13px}
.key span{margin-right:1.1rem;white-space:nowrap}
.key i{display:inline-block;width:.7em;height:.7em;border-radius:2px;margin-right:.4em}
.bar{display:inline-block;height:.65em;border-radius:2px;background:var(--bar);vertical-align:baseline}
@media print{body{max-width:none;margin:0}h2{break-after:avoid}figure{break-inside:avoid}}
</style>
)";

}  // namespace

std::string page_head(const std::string& title, const std::string& policy) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'{}\">\n"
      "<title>Tessera: {}</title>\n{}</head><body>\n",
      policy.empty() ? "" : "; " + escaped(policy), escaped(title), kStyle);
}

std::string page_end() { return "</body></html>\n"; }

std::string colour_key(const std::vector<std::pair<std::string, std::string>>& names_and_colours) {
  std::string text = "<p class=\"key\">";
  for (const auto& [name, colour] : names_and_colours) {
    text += fmt::format("<span><i style=\"background:{}\"></i>{}</span>", escaped(colour), escaped(name));
  }
  return text + "</p>\n";
}
