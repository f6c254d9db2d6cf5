#include "api/stats_collector.hpp"

#include <string>
#include <utility>

#include "base/log.hpp"

namespace tessera {
namespace {

void add_device(tessera_stats& s, StallParts& stalls, DeviceHeap& heap) {
  const BlockStats blocks = heap.blocks().stats();
  const ResidencyStats moves = heap.residency().figures().stats();
  const TierUsage tier = heap.tier().usage();
  s.devices += 1;
  s.live_blocks += blocks.live_blocks;
  s.live_bytes += blocks.live_bytes.value();
  s.peak_live_bytes += blocks.peak_live_bytes.value();
  s.allocations += blocks.allocations;
  s.frees += blocks.frees;
  s.cache_hits += blocks.cache_hits;
  s.reserved_bytes += moves.run_bytes.value();
  s.device_capacity += tier.capacity.value();
  s.device_used += tier.used.value();
  s.device_spare += tier.spare.value();
  s.device_peak += tier.peak_used.value();
  s.bytes_in += moves.bytes_in.value();
  s.bytes_out += moves.bytes_out.value();
  s.bytes_file_read += moves.bytes_file_read.value();
  s.bytes_file_written += moves.bytes_file_written.value();
  s.bytes_peer_in += moves.bytes_peer_in.value();
  s.bytes_peer_out += moves.bytes_peer_out.value();
  s.fetches += moves.fetches;
  s.evictions += moves.evictions;
  s.forwards += moves.forwards;
  s.clean_evictions += moves.clean_evictions;
  s.discards += moves.discards;
  s.stalls += moves.stalls;
  s.stall_ns += moves.stall_time.value();
  add_parts(stalls, moves.stall_parts);
  s.late_fetches += moves.late_fetches;
  s.launches += moves.launches;
  s.uses += moves.uses;
  s.pinned_bytes += moves.pinned_bytes.value();
  s.exposed_bytes += moves.exposed_bytes.value();
  s.zero_copy_bytes += moves.zero_copy_bytes.value();
  s.reachable_bytes += moves.reachable_bytes.value();
  s.left_unreachable += moves.left_unreachable;
  s.exchanges += moves.exchanges;
  s.dropped_bytes += moves.dropped_bytes.value();
  s.recomputes += moves.recomputes;
  s.recomputed_bytes += moves.recomputed_bytes.value();
  s.recompute_ns += moves.recompute_time.value();
  s.checks += moves.checks;
  s.checks_changed += moves.checks_changed;
  s.unchanged_evictions += moves.unchanged_evictions;
  s.unchanged_bytes += moves.unchanged_bytes.value();
}

// Only causes that occurred.
std::vector<StatsSnapshot::Stalls> causes_of(const StallParts& stalls) {
  std::vector<StatsSnapshot::Stalls> causes;
  for (std::size_t i = 0; i < kStallCauses; ++i) {
    const auto& [count, time] = stalls[i];
    if (count != 0 || time) causes.push_back({name_of(static_cast<StallCause>(i)), count, time});
  }
  return causes;
}

}  // namespace

void StatsCollector::set_outside(const OutsideMemory::Report& report) {
  if (!outside_.set(report)) return;
  const auto memory = driver_.memory_info(report.device);
  if (!memory.is_ok()) return;  // judged again when there is more
  DeviceHeap* const heap = heaps_.made(report.device);
  const Bytes in_heap = heap == nullptr ? Bytes() : heap->blocks().stats().live_bytes;
  const auto line = outside_.line_if_due(report.device, in_heap, memory.value().total);
  if (line) log_line(LogLevel::kWarning, "{}", *line);
}

StatsSnapshot StatsCollector::snapshot() const {
  StatsSnapshot stats;
  tessera_stats& s = stats.totals;
  s.size = sizeof(s);
  StallParts stalls{};
  stats.facts = {{"policy", heaps_.policy()},
                 {"host_memory", lower_.host().pinned() ? "pinned" : "pageable"},
                 {"unhinted_access", heaps_.unhinted_access()}};
  if (lower_.file().usage().capacity) stats.facts.push_back({"file_io", lower_.file().io_names()});
  for (DeviceHeap* const heap : heaps_.all()) {
    add_device(s, stalls, *heap);
    // At the end of a program the driver may no longer answer.
    if (const auto memory = driver_.memory_info(heap->device()); memory.is_ok()) {
      s.graph_peak += memory.value().graph_peak.value();
    }
    for (const TagUse& use : heap->blocks().tags()) {
      stats.tags.push_back({tags_.name_of(use.tag), use.live_blocks, use.live_bytes});
    }
    for (const auto& [tag, bytes] : heap->residency().figures().bytes_by_tag()) {
      stats.tag_pages.push_back({tags_.name_of(tag), bytes});
    }
    for (const auto& [reason, bytes] : heap->residency().figures().exposures()) {
      stats.exposures.push_back({reason, bytes, pins_.first_call(reason)});
    }
  }
  stats.causes = causes_of(stalls);
  OutsideMemory::Figures outside = outside_.figures();
  s.outside_bytes = outside.bytes.value();
  s.outside_peak = outside.peak.value();
  stats.outside = std::move(outside.parts);
  const TierUsage peer = lower_.peer_usage(), file = lower_.file().usage(), host = lower_.host_usage_with_staging();
  s.peer_capacity = peer.capacity.value();
  s.peer_used = peer.used.value();
  s.peer_peak = peer.peak_used.value();
  s.host_capacity = host.capacity.value();
  s.host_used = host.used.value();
  s.host_peak = host.peak_used.value();
  s.file_capacity = file.capacity.value();
  s.file_used = file.used.value();
  s.file_peak = file.peak_used.value();
  const Activity::Report activity = activity_.look();
  s.idle_ns = activity.idle.value();
  s.asleep = activity.asleep ? 1 : 0;
  s.idle_sleeps = activity.sleeps;
  lower_.host_memory().add_to(s);
  return stats;
}

}  // namespace tessera
