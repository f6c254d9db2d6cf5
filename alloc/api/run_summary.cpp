#include "api/run_summary.hpp"

#include <fmt/core.h>

#include "base/size_text.hpp"

namespace tessera {
namespace {

constexpr double kNanosecondsInSecond = 1e9;

const char* advice_on(const tessera_stats& stats) {
  if (stats.bytes_file_read != 0) return "a larger --host-memory keeps more of it off the disk";
  return "--history FILE and `tessera report FILE` show when and why";
}

}  // namespace

RunSummary::RunSummary(const Options& options)
    : prints_(options.summary == "on" || (options.summary == "first" && options.rank.is_first)),
      rank_(options.rank.number.empty() ? "" : fmt::format("rank {}: ", options.rank.number)) {}

std::string RunSummary::line_at_begin(DeviceId device, const HeapBudgets& budgets) const {
  if (!prints_) return "";
  const std::string file = budgets.file ? fmt::format("{} in spill files", rounded_size(budgets.file))
                                        : std::string("no spill file (--file-dir adds one)");
  return fmt::format("{}device {}: the heap has {} of device memory, {} of host memory, {}", rank_, device.value(),
                     rounded_size(budgets.device), rounded_size(budgets.host), file);
}

std::string RunSummary::line_at_end(const tessera_stats& stats) const {
  if (!prints_ || stats.devices == 0) return "";
  const std::string most = rounded_size(Bytes(stats.peak_live_bytes));
  if (stats.evictions == 0) {
    return fmt::format("{}at the end: {} of blocks at most, all in device memory; nothing moved", rank_, most);
  }
  const std::string waited =
      fmt::format("{:.1f} s in {} waits", static_cast<double>(stats.stall_ns) / kNanosecondsInSecond, stats.stalls);
  return fmt::format("{}at the end: {} of blocks at most, {} in device memory; {} fetched, {} evicted, {}; {}", rank_,
                     most, rounded_size(Bytes(stats.device_peak)), rounded_size(Bytes(stats.bytes_in)),
                     rounded_size(Bytes(stats.bytes_out)), waited, advice_on(stats));
}

}  // namespace tessera
