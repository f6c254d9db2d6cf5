#include "api/stats_report.hpp"

#include <map>

#include <fmt/core.h>

#include "base/size_text.hpp"
#include "observe/emitter.hpp"
#include "observe/text_file.hpp"

namespace tessera {
namespace {

void add_totals(Emitter& out, const tessera_stats& s) {
  out.group("blocks");
  out.count("live_blocks", s.live_blocks);
  out.bytes("live_bytes", Bytes(s.live_bytes));
  out.bytes("peak_live_bytes", Bytes(s.peak_live_bytes));
  out.count("allocations", s.allocations);
  out.count("frees", s.frees);
  out.count("cache_hits", s.cache_hits);
  out.bytes("reserved_bytes", Bytes(s.reserved_bytes));
  out.group("device");
  out.bytes("device_capacity", Bytes(s.device_capacity));
  out.bytes("device_used", Bytes(s.device_used));
  out.bytes("device_spare", Bytes(s.device_spare));
  out.bytes("device_peak", Bytes(s.device_peak));
  out.group("peer");
  out.bytes("peer_capacity", Bytes(s.peer_capacity));
  out.bytes("peer_used", Bytes(s.peer_used));
  out.bytes("peer_peak", Bytes(s.peer_peak));
  out.group("host");
  out.bytes("host_capacity", Bytes(s.host_capacity));
  out.bytes("host_used", Bytes(s.host_used));
  out.bytes("host_peak", Bytes(s.host_peak));
  out.group("file");
  out.bytes("file_capacity", Bytes(s.file_capacity));
  out.bytes("file_used", Bytes(s.file_used));
  out.bytes("file_peak", Bytes(s.file_peak));
  out.group("moves");
  out.bytes("bytes_in", Bytes(s.bytes_in));
  out.bytes("bytes_out", Bytes(s.bytes_out));
  out.bytes("bytes_file_read", Bytes(s.bytes_file_read));
  out.bytes("bytes_file_written", Bytes(s.bytes_file_written));
  out.bytes("bytes_peer_in", Bytes(s.bytes_peer_in));
  out.bytes("bytes_peer_out", Bytes(s.bytes_peer_out));
  out.count("fetches", s.fetches);
  out.count("evictions", s.evictions);
  out.count("forwards", s.forwards);
  out.count("clean_evictions", s.clean_evictions);
  out.count("discards", s.discards);
  out.group("recomputed");
  out.bytes("dropped_bytes", Bytes(s.dropped_bytes));
  out.count("recomputes", s.recomputes);
  out.bytes("recomputed_bytes", Bytes(s.recomputed_bytes));
  out.time("recompute", Nanoseconds(s.recompute_ns));
  out.group("unchanged");
  out.count("checks", s.checks);
  out.count("checks_changed", s.checks_changed);
  out.count("unchanged_evictions", s.unchanged_evictions);
  out.bytes("unchanged_bytes", Bytes(s.unchanged_bytes));
  out.group("waits");
  out.count("stalls", s.stalls);
  out.time("stall", Nanoseconds(s.stall_ns));
  out.count("late_fetches", s.late_fetches);
  out.group("uses");
  out.count("launches", s.launches);
  out.count("uses", s.uses);
  out.group("idle");
  out.time("idle", Nanoseconds(s.idle_ns));
  out.count("asleep", s.asleep);
  out.count("idle_sleeps", s.idle_sleeps);
  out.group("held");
  out.bytes("pinned_bytes", Bytes(s.pinned_bytes));
  out.bytes("exposed_bytes", Bytes(s.exposed_bytes));
  out.bytes("zero_copy_bytes", Bytes(s.zero_copy_bytes));
  out.bytes("reachable_bytes", Bytes(s.reachable_bytes));
  out.count("left_unreachable", s.left_unreachable);
  out.count("exchanges", s.exchanges);
  out.group("host_blocks");
  out.count("host_blocks", s.host_blocks);
  out.bytes("host_block_bytes", Bytes(s.host_block_bytes));
  out.bytes("host_block_peak", Bytes(s.host_block_peak));
  out.bytes("host_block_pinned", Bytes(s.host_block_pinned));
  out.group("outside");
  out.bytes("graph_peak", Bytes(s.graph_peak));
  out.bytes("outside_bytes", Bytes(s.outside_bytes));
  out.bytes("outside_peak", Bytes(s.outside_peak));
  out.bytes("driver_host_bytes", Bytes(s.driver_host_bytes));
  out.bytes("registered_bytes", Bytes(s.registered_bytes));
}

// Sums parts of equal name, since devices report theirs separately. In order of name.
template <class Part, class Name>
std::map<std::string, Bytes> by_name(const std::vector<Part>& parts, Name name) {
  std::map<std::string, Bytes> sums;
  for (const Part& part : parts) sums[name(part)] += part.bytes;
  return sums;
}

std::map<std::string, std::string> first_calls(const StatsSnapshot& stats) {
  std::map<std::string, std::string> calls;
  for (const auto& exposure : stats.exposures) {
    if (!exposure.first_call.empty()) calls.emplace(exposure.reason, exposure.first_call);
  }
  return calls;
}

// The bytes that are in one tier, by tag. In order of name.
std::map<std::string, Bytes> tags_in(const StatsSnapshot& stats, Location location) {
  std::map<std::string, Bytes> sums;
  for (const auto& tag : stats.tag_pages) {
    const Bytes bytes = tag.bytes[index_of(location)];
    if (bytes) sums[tag.name.empty() ? "untagged" : tag.name] += bytes;
  }
  return sums;
}

Emitter emit(const StatsSnapshot& stats) {
  Emitter out;
  out.group("tessera");
  out.text("version", TESSERA_VERSION_STRING);
  out.count("devices", stats.totals.devices);
  for (const auto& fact : stats.facts) out.text(fact.name, fact.value);
  add_totals(out, stats.totals);
  out.group("live_bytes_by_tag");
  const auto tag_name = [](const auto& tag) { return tag.name.empty() ? "untagged" : tag.name; };
  for (const auto& [name, bytes] : by_name(stats.tags, tag_name)) out.bytes(name, bytes);
  for (std::size_t i = 0; i < kLocations; ++i) {
    const auto location = static_cast<Location>(i);
    out.group(fmt::format("{}_bytes_by_tag", name_of(location)));
    for (const auto& [name, bytes] : tags_in(stats, location)) out.bytes(name, bytes);
  }
  out.group("exposed_bytes_by_reason");
  const auto reason = [](const auto& exposure) { return exposure.reason; };
  for (const auto& [name, bytes] : by_name(stats.exposures, reason)) out.bytes(name, bytes);
  out.group("outside_bytes_by_kind");
  for (const auto& part : stats.outside) out.bytes(part.kind, part.bytes);
  out.group("first_call_by_kind");
  for (const auto& part : stats.outside) out.text(part.kind, part.first_call);
  out.group("first_call_by_reason");
  for (const auto& [name, call] : first_calls(stats)) out.text(name, call);
  out.group("stalls_by_cause");
  for (const auto& cause : stats.causes) out.count(cause.name, cause.stalls);
  out.group("stall_time_by_cause");
  for (const auto& cause : stats.causes) out.time(cause.name, cause.time);
  return out;
}

struct Side {
  const char* name;
  std::uint64_t value;
};

Status broken(Side left, const char* relation, Side right) {
  return Status(Code::kInternal, fmt::format("statistics do not add up: {} ({}) {} {} ({})", left.name, left.value,
                                             relation, right.name, right.value));
}
Status equal(Side left, Side right) { return left.value == right.value ? Status::ok() : broken(left, "!=", right); }
Status at_most(Side left, Side right) { return left.value <= right.value ? Status::ok() : broken(left, ">", right); }

Status check_totals(const tessera_stats& s) {
  TESSERA_TRY(equal({"live_blocks + frees", s.live_blocks + s.frees}, {"allocations", s.allocations}));
  TESSERA_TRY(at_most({"live_bytes", s.live_bytes}, {"peak_live_bytes", s.peak_live_bytes}));
  TESSERA_TRY(at_most({"live_bytes", s.live_bytes}, {"reserved_bytes", s.reserved_bytes}));
  TESSERA_TRY(at_most({"cache_hits", s.cache_hits}, {"allocations", s.allocations}));
  TESSERA_TRY(
      at_most({"device_used + device_spare", s.device_used + s.device_spare}, {"device_capacity", s.device_capacity}));
  TESSERA_TRY(at_most({"device_used", s.device_used}, {"device_peak", s.device_peak}));
  TESSERA_TRY(at_most({"device_peak", s.device_peak}, {"device_capacity", s.device_capacity}));
  TESSERA_TRY(at_most({"peer_used", s.peer_used}, {"peer_peak", s.peer_peak}));
  TESSERA_TRY(at_most({"outside_bytes", s.outside_bytes}, {"outside_peak", s.outside_peak}));
  TESSERA_TRY(at_most({"peer_peak", s.peer_peak}, {"peer_capacity", s.peer_capacity}));
  TESSERA_TRY(at_most({"host_used", s.host_used}, {"host_peak", s.host_peak}));
  TESSERA_TRY(at_most({"host_peak", s.host_peak}, {"host_capacity", s.host_capacity}));
  TESSERA_TRY(at_most({"host_block_bytes", s.host_block_bytes}, {"host_block_peak", s.host_block_peak}));
  TESSERA_TRY(at_most({"host_block_bytes", s.host_block_bytes}, {"host_block_pinned", s.host_block_pinned}));
  TESSERA_TRY(at_most({"file_used", s.file_used}, {"file_peak", s.file_peak}));
  TESSERA_TRY(at_most({"unchanged_evictions", s.unchanged_evictions}, {"clean_evictions", s.clean_evictions}));
  TESSERA_TRY(at_most({"unchanged_evictions + checks_changed", s.unchanged_evictions + s.checks_changed},
                      {"checks", s.checks}));
  return at_most({"file_peak", s.file_peak}, {"file_capacity", s.file_capacity});
}

Status check_parts(const StatsSnapshot& stats) {
  std::uint64_t tag_bytes = 0, tag_blocks = 0, page_bytes = 0, exposed = 0, stalls = 0, stall_ns = 0;
  for (const auto& tag : stats.tags) tag_bytes += tag.bytes.value(), tag_blocks += tag.blocks;
  for (const auto& tag : stats.tag_pages) {
    for (const Bytes bytes : tag.bytes) page_bytes += bytes.value();
  }
  for (const auto& exposure : stats.exposures) exposed += exposure.bytes.value();
  for (const auto& cause : stats.causes) stalls += cause.stalls, stall_ns += cause.time.value();
  const tessera_stats& s = stats.totals;
  if (!stats.tags.empty()) {
    TESSERA_TRY(equal({"sum of live_bytes_by_tag", tag_bytes}, {"live_bytes", s.live_bytes}));
    TESSERA_TRY(equal({"sum of blocks by tag", tag_blocks}, {"live_blocks", s.live_blocks}));
  }
  TESSERA_TRY(at_most({"sum of bytes by tag in all tiers", page_bytes}, {"reserved_bytes", s.reserved_bytes}));
  if (!stats.exposures.empty()) {
    TESSERA_TRY(equal({"sum of exposed_bytes_by_reason", exposed}, {"exposed_bytes", s.exposed_bytes}));
  }
  if (stats.causes.empty()) return Status::ok();
  TESSERA_TRY(equal({"sum of stalls by cause", stalls}, {"stalls", s.stalls}));
  return equal({"sum of stall_time_by_cause", stall_ns}, {"stall_ns", s.stall_ns});
}

}  // namespace

std::string stats_table(const StatsSnapshot& stats) { return emit(stats).table(); }
std::string stats_json(const StatsSnapshot& stats) { return emit(stats).json(); }

Status write_stats(const StatsSnapshot& stats, const std::string& path) {
  return write_text_file(path, stats_text(stats, path.ends_with(".json")));
}

std::string stats_text(const StatsSnapshot& stats, bool json) {
  return json ? stats_json(stats) + "\n" : stats_table(stats);
}

std::vector<std::string> exposure_lines(const StatsSnapshot& stats) {
  constexpr std::size_t kMostLines = 16;
  const auto sums = by_name(stats.exposures, [](const auto& exposure) { return exposure.reason; });
  const auto calls = first_calls(stats);
  std::vector<std::string> lines;
  for (const auto& [reason, bytes] : sums) {
    if (lines.size() == kMostLines) {
      lines.push_back(fmt::format("{} more reasons are listed in the statistics", sums.size() - kMostLines));
      break;
    }
    const auto call = calls.find(reason);
    lines.push_back(fmt::format("exposed: {} had to stay in device memory: {}{}{}", rounded_size(bytes), reason,
                                call == calls.end() ? "" : ", first by ", call == calls.end() ? "" : call->second));
  }
  return lines;
}

Status check_sums(const StatsSnapshot& stats) {
  TESSERA_TRY(check_totals(stats.totals));
  return check_parts(stats);
}

}  // namespace tessera
