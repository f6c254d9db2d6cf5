#include "report_text.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include <fmt/core.h>

#include "html_page.hpp"
#include "rounded.hpp"
#include "run_history.hpp"

namespace {

constexpr StallRemedy kStallRemedies[] = {
    {"copy_in", 0, "fetches from host memory", "prefetch earlier, or more device memory"},
    {"file_read", 2, "loads from the spill file", "more host memory, or a faster disk"},
    {"copy_out", 1, "evictions to host memory that make room", "earlier eviction: policy auto, or a low-watermark"},
    {"file_write", 3, "spills to the file, because host memory is full", "more host memory, or a faster disk"},
    {"work", 4, "queued work that uses blocks to be evicted", "more device memory, or smaller steps"},
    {"other_calls", 6, "calls on other threads that use the memory", "fewer threads with large blocks at once"},
    {"mapping", 7, "unmapping and mapping during these calls", "fewer, larger blocks"},
};

bool counts_bytes(const std::string& group, const std::string& name) {
  const bool is_tier = std::ranges::find(kPlacesOfPages, group) != kPlacesOfPages.end();
  const bool is_amount = name.ends_with("_peak") || name.ends_with("_pinned");  // of host blocks, outside memory
  return is_tier || is_amount || name.find("bytes") != std::string::npos || group.find("bytes_by") != std::string::npos;
}

}  // namespace

std::string with_blanks(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

std::string time_text(double ns) { return ns == 0 ? "0" : rounded_seconds(ns / 1e9); }
std::string bytes_text(double bytes) { return rounded_bytes(static_cast<std::uint64_t>(bytes)); }

FigureText figure_text(const std::string& group, const std::string& name, double value) {
  if (name.ends_with("_ns")) return {with_blanks(name.substr(0, name.size() - 3)) + " time", time_text(value)};
  return {with_blanks(name), counts_bytes(group, name) ? bytes_text(value) : fmt::format("{:.0f}", value)};
}

StallRemedy stall_remedy(const std::string& cause) {
  const auto* const found = std::ranges::find(kStallRemedies, cause, &StallRemedy::cause);
  return found == std::end(kStallRemedies) ? StallRemedy{"", kPageColours.size() - 1, "", "see docs/stats.md"} : *found;
}
