// The allocator's reports: queries, statistics, out-of-memory messages, the files at the end.
#include <algorithm>
#include <cerrno>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "api/allocator.hpp"
#include "api/budgets.hpp"
#include "api/history_report.hpp"
#include "api/oom_report.hpp"
#include "base/available_memory.hpp"
#include "base/log.hpp"
#include "base/page_class.hpp"
#include "observe/text_file.hpp"
#include "tier/spill_file.hpp"

namespace tessera {
namespace {

OomFigures::Tier figures_of(const TierUsage& usage) { return {usage.capacity, usage.used}; }

OomFigures::FileState state_of(const FileTier& file, const Options& options) {
  using State = OomFigures::FileState;
  if (file.usage().capacity) {
    if (file.takes_writes()) return State::kServes;
    return file.is_spent() ? State::kSpent : State::kEnded;
  }
  if (options.file_memory == Bytes(0)) return State::kSizeZero;
  return options.file_memory || !options.file_dir.empty() ? State::kRefused : State::kNotAsked;
}

void add_what_is_left(OomFigures& figures, const Options& options) {
  figures.host_left = available_memory();
  if (!figures.file_tier.capacity) return;
  figures.disk_left = space_left(options);
  const Bytes each = figures.file_tier.capacity / std::max(spill_directories(options).size(), std::size_t{1});
  figures.file_limited = each + kBasePage > file_size_limit();
}

void add_device(tessera_stats& s, StallParts& stalls, DeviceHeap& heap) {
  const BlockStats blocks = heap.blocks().stats();
  const ResidencyStats moves = heap.residency().stats();
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
  s.dropped_bytes += moves.dropped_bytes.value();
  s.recomputes += moves.recomputes;
  s.recomputed_bytes += moves.recomputed_bytes.value();
  s.recompute_ns += moves.recompute_time.value();
  s.checks += moves.checks;
  s.checks_changed += moves.checks_changed;
  s.unchanged_evictions += moves.unchanged_evictions;
  s.unchanged_bytes += moves.unchanged_bytes.value();
}

constexpr int kHistoryTries = 16;
constexpr std::size_t kBesideFigures = 256;  // in the page of LiveBoard

// The figures that a history has to add up to.
auto progress_of(const StatsSnapshot& stats) {
  const tessera_stats& s = stats.totals;
  return std::tuple(s.bytes_in, s.bytes_out, s.bytes_file_read, s.bytes_file_written, s.bytes_peer_in, s.bytes_peer_out,
                    s.stall_ns);
}

// As of the picture: a move that ended since is in neither.
void take_progress(const HistoryPicture& picture, StatsSnapshot& stats) {
  tessera_stats& s = stats.totals;
  std::uint64_t* const moved[kLinks] = {&s.bytes_in,           &s.bytes_out,     &s.bytes_file_read,
                                        &s.bytes_file_written, &s.bytes_peer_in, &s.bytes_peer_out};
  HistorySlot sums{};
  for (const HistorySlot& slot : picture.slots) {
    for (std::size_t i = 0; i < kLinks; ++i) sums.moved[i] += slot.moved[i];
    for (std::size_t i = 0; i < kStallCauses; ++i) sums.waited[i] += slot.waited[i];
  }
  for (std::size_t i = 0; i < kLinks; ++i) *moved[i] = sums.moved[i].value();
  s.stall_ns = 0;
  for (std::size_t i = 0; i < kStallCauses; ++i) {
    s.stall_ns += sums.waited[i].value();
    const std::string name = name_of(static_cast<StallCause>(i));
    const auto known = std::ranges::find(stats.causes, name, &StatsSnapshot::Stalls::name);
    if (known != stats.causes.end()) {
      known->time = sums.waited[i];
    } else if (sums.waited[i]) {
      stats.causes.push_back({name, 0, sums.waited[i]});
    }
  }
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

Result<Allocator::Where> Allocator::query(Address address) {
  DeviceHeap* heap = heap_of(address);
  if (heap == nullptr) return not_ours(address);
  const BlockCache::Lookup lookup(heap->blocks());
  const auto block = lookup.block_of(address);
  if (!block) return not_ours(address);
  return Where{heap->device(), *block, heap->residency().whereabouts(*block->run), block->run->whole().pins.load()};
}

std::pair<Address, Address> Allocator::managed_range() const { return {Address(low_.load()), Address(high_.load())}; }

// Everything not taken by live runs is available without moving a page, because free and cached blocks are simply
// dropped. Memory that the driver has given to others is not. For a heap that does not exist yet, returns what it would
// get.
Result<MemoryInfo> Allocator::memory_info(DeviceId device) {
  if (options_.report_memory == "virtual") {
    TESSERA_TRY_ASSIGN(DeviceHeap* const heap, this->heap(device));
    return enlarged(*heap);
  }
  DeviceHeap* const heap = made_heap(device);
  if (heap == nullptr) {
    TESSERA_TRY_ASSIGN(const MemoryInfo memory, driver_->memory_info(device));
    const Bytes lent = std::min(memory.free, to_lend(device));
    return MemoryInfo{device_budget(options_, {memory.free - lent, memory.total}), memory.total};
  }
  const Bytes lost = heap->tier().usage().lost, live = heap->residency().live_bytes();
  TESSERA_TRY_ASSIGN(const Bytes reach, heap->tier().reach());
  return MemoryInfo{reach - std::min(reach, lost + live), heap->total_memory()};
}

Result<MemoryInfo> Allocator::memory_beside(DeviceId device) {
  TESSERA_TRY_ASSIGN(MemoryInfo memory, driver_->memory_info(device));
  DeviceHeap* const heap = made_heap(device);
  if (heap == nullptr) return memory;
  const TierUsage usage = heap->tier().usage();
  const Bytes held = usage.used + usage.spare, kept = usage.lost + heap->residency().live_bytes();
  memory.free += held - std::min(held, kept);
  return memory;
}

// The device as if the tiers below were part of it. Bytes that other devices hold there are not free. It may be in any
// tier, so the amount counted is what cannot be in their own memory or in what they borrow.
MemoryInfo Allocator::enlarged(DeviceHeap& heap) const {
  const Bytes peer = peer_usage().capacity, below = host_usage().capacity + file_->usage().capacity;
  Bytes taken = heap.residency().live_bytes(), borrowed;
  for (const auto& entry : heaps_) {
    DeviceHeap* other = entry.load(std::memory_order_acquire);
    if (other == nullptr || other == &heap) continue;
    const Bytes live = other->residency().live_bytes(), own = other->tier().limit();
    if (live > own) (other->borrows() && !heap.borrows() ? borrowed : taken) += live - own;
  }
  taken += borrowed - std::min(borrowed, peer);
  const Bytes total = heap.tier().limit() + below + (heap.borrows() ? peer : Bytes());
  return MemoryInfo{total > taken ? total - taken : Bytes(), total};
}

void Allocator::set_outside(const OutsideMemory::Report& report) {
  if (!outside_.set(report)) return;
  const auto memory = driver_->memory_info(report.device);
  if (!memory.is_ok()) return;  // judged again when there is more
  DeviceHeap* const heap = made_heap(report.device);
  const Bytes in_heap = heap == nullptr ? Bytes() : heap->blocks().stats().live_bytes;
  const auto line = outside_.line_if_due(report.device, in_heap, memory.value().total);
  if (line) log_line(LogLevel::kWarning, "{}", *line);
}

StatsSnapshot Allocator::stats() const {
  StatsSnapshot stats;
  tessera_stats& s = stats.totals;
  s.size = sizeof(s);
  StallParts stalls{};
  {
    const MutexLock lock(mutex_);
    stats.facts = {{"policy", policies_.back().name},
                   {"host_memory", host_->pinned() ? "pinned" : "pageable"},
                   {"unhinted_access", unhinted_}};
  }
  if (file_->usage().capacity) stats.facts.push_back({"file_io", file_->io_names()});
  for (const auto& entry : heaps_) {
    DeviceHeap* heap = entry.load(std::memory_order_acquire);
    if (heap == nullptr) continue;
    add_device(s, stalls, *heap);
    // At the end of a program the driver may no longer answer.
    if (const auto memory = driver_->memory_info(heap->device()); memory.is_ok()) {
      s.graph_peak += memory.value().graph_peak.value();
    }
    for (const TagUse& use : heap->blocks().tags()) {
      stats.tags.push_back({tags_.name_of(use.tag), use.live_blocks, use.live_bytes});
    }
    for (const auto& [reason, bytes] : heap->residency().exposures()) {
      stats.exposures.push_back({reason, bytes, exposures_.first_call(reason)});
    }
  }
  stats.causes = causes_of(stalls);
  OutsideMemory::Figures outside = outside_.figures();
  s.outside_bytes = outside.bytes.value();
  s.outside_peak = outside.peak.value();
  stats.outside = std::move(outside.parts);
  const TierUsage peer = peer_usage(), file = file_->usage();
  const TierUsage host = guards_all_work() ? backing_->usage() : host_->usage_with_staging();
  s.peer_capacity = peer.capacity.value();
  s.peer_used = peer.used.value();
  s.peer_peak = peer.peak_used.value();
  s.host_capacity = host.capacity.value();
  s.host_used = host.used.value();
  s.host_peak = host.peak_used.value();
  s.file_capacity = file.capacity.value();
  s.file_used = file.used.value();
  s.file_peak = file.peak_used.value();
  host_memory_->add_to(s);
  return stats;
}

// With too many tags for the page, only the totals are shown.
std::string Allocator::figures_to_show() const {
  StatsSnapshot now = stats();
  std::string text = stats_json(now);
  if (text.size() <= LiveBoard::kCapacity - kBesideFigures) return text;
  now.tags.clear();
  now.exposures.clear();
  return stats_json(now);
}

void Allocator::show() {
  if (board_ && board_->wanted()) board_->publish(figures_to_show());
}

void Allocator::keep_reports() {
  outputs_.keep_stats([this] { return stats_json(stats()); });
  outputs_.keep_timeline([this] { return timeline_json(log_); });
  outputs_.keep_history([this] {
    constexpr int kOnce = 1;
    auto text = history_text(kOnce);
    return text.is_ok() ? text.take() : std::string();
  });
}

// Extends an out-of-memory status by the message that adds up; returns any other unchanged. A caller that gets it from
// here may log it, once.
Status Allocator::explain(Status status, DeviceHeap& heap, Bytes asked, OomFigures::Cause too_large) const {
  if (status.code() != Code::kOutOfMemory) return status;
  const ResidencyStats moves = heap.residency().stats();
  OomFigures figures;
  if (asked > heap.tier().usage().capacity) figures.cause = too_large;
  figures.asked = asked;
  figures.device = heap.device();
  const TierUsage device = heap.tier().usage();
  figures.device_tier = figures_of(device);
  figures.elsewhere = heap.tier().limit() - device.capacity;
  if (heap.borrows()) figures.peer_tier = figures_of(peer_usage());
  figures.host_tier = figures_of(host_usage());
  figures.host_refused = !guards_all_work() && host_->is_refused();
  figures.file_tier = figures_of(file_->usage());
  figures.file = state_of(*file_, options_);
  figures.file_trouble = file_->trouble();
  figures.file_ended = figures.file_tier.capacity - std::min(figures.file_tier.capacity, file_->reach());
  if (pump_) add_what_is_left(figures, options_);  // without a pump, the machine is simulated
  figures.pinned = moves.pinned_bytes;
  figures.exposed = moves.exposed_bytes;
  Bytes most;
  for (const auto& [reason, bytes] : heap.residency().exposures()) {
    if (bytes <= most) continue;
    most = bytes;
    figures.exposed_by = reason;
  }
  figures.automatic = heap.residency().is_automatic();
  return Status(Code::kOutOfMemory, fmt::format("{}\n{}", status.message(), oom_message(figures)));
}

Status Allocator::write_timeline(const std::string& path, std::span<const TrackSlice> slices) const {
  return tessera::write_timeline(log_, path, slices);
}

Status Allocator::write_history(const std::string& path) const {
  std::string text;
  TESSERA_TRY_ASSIGN(text, history_text(kHistoryTries));
  return write_text_file(path, text);
}

Result<std::string> Allocator::history_text(int tries) const {
  auto picture = log_.history();
  if (!picture) return Status(Code::kInvalidArgument, "no history was recorded");
  StatsSnapshot now = stats();
  // A move that ends in between is in only one of the two.
  bool adds_up = false;
  for (; tries > 0 && !adds_up; --tries) {
    picture = log_.history();
    const auto before = progress_of(std::exchange(now, stats()));
    adds_up = before == progress_of(now);
  }
  if (!adds_up) take_progress(*picture, now);
  HistoryReport report{program_invocation_short_name, std::move(*picture), {}, {}, {}, std::move(now)};
  {
    const MutexLock lock(mutex_);
    report.policies = policies_;
  }
  const auto shown = [this](TagId tag) {
    const std::string name = tags_.name_of(tag);
    return name.empty() ? std::string("untagged") : name;
  };
  for (const TagHistory& tag : report.picture.tags) {
    report.tags.push_back(tag.others ? "other tags" : shown(tag.tag));
  }
  CostliestRuns costliest;
  for (const auto& entry : heaps_) {
    DeviceHeap* heap = entry.load(std::memory_order_acquire);
    if (heap == nullptr) continue;
    const ResidencyStats moves = heap->residency().stats();
    for (const CostlyRun& run : moves.costliest.runs()) costliest.offer(run);
  }
  for (const CostlyRun& run : costliest.runs()) report.blocks.push_back({run, shown(run.tag)});
  return history_json(report) + "\n";
}

Status Allocator::finish() {
  Status result;
  const auto keep_first = [&result](Status status) {
    if (result.is_ok()) result = std::move(status);
  };
  const StatsSnapshot last = stats();
  for (const std::string& line : exposure_lines(last)) log_line(LogLevel::kWarning, "{}", line);
  if (const auto line = outside_.line_at_end(Bytes(last.totals.peak_live_bytes))) {
    log_line(LogLevel::kWarning, "{}", *line);
  }
  if (outputs_.has_stats()) keep_first(outputs_.write_stats(stats_text(last, outputs_.stats_are_json())));
  if (outputs_.has_timeline()) keep_first(outputs_.write_timeline(timeline_json(log_)));
  if (outputs_.has_history()) {
    const auto history = history_text(kHistoryTries);
    keep_first(history.is_ok() ? outputs_.write_history(history.value()) : history.status());
  }
  if (op_times_) op_times_->look();
  if (trace_) keep_first(trace_->flush());
  return result;
}

Status Allocator::validate() const {
  for (const auto& entry : heaps_) {
    DeviceHeap* heap = entry.load(std::memory_order_acquire);
    if (heap != nullptr) TESSERA_TRY(heap->validate());
  }
  return {};
}

}  // namespace tessera
