#include "lab/replay/trace_builder.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include <fmt/core.h>

namespace tessera {
namespace {

// Events, blocks and operands have 32-bit indices.
constexpr std::size_t kMaxEvents = std::numeric_limits<std::uint32_t>::max();

std::vector<std::uint32_t> without(const std::vector<std::uint32_t>& from, const std::vector<std::uint32_t>& taken) {
  std::vector<std::uint32_t> rest;
  std::ranges::set_difference(from, taken, std::back_inserter(rest));
  return rest;
}

}  // namespace

Status wrong(std::string message) { return {Code::kInvalidArgument, std::move(message)}; }

TraceBuilder::TraceBuilder() { word(""); }

void TraceBuilder::header(std::string name, std::string source, Bytes device_memory) {
  trace_.name = std::move(name);
  trace_.source = std::move(source);
  trace_.device_memory = device_memory;
}

Status TraceBuilder::check_room(std::uint64_t device) const {
  if (trace_.events.size() >= kMaxEvents) return wrong("more events than the limit of a trace");
  if (device >= kMaxDevices)
    return wrong(fmt::format("device {}: at most {} devices are supported", device, kMaxDevices));
  return {};
}

Status TraceBuilder::alloc(const Alloc& alloc) {
  TESSERA_TRY(check_room(alloc.device));
  if (live_.contains(alloc.id)) return wrong(fmt::format("block {} is allocated already", alloc.id));
  if (!alloc.bytes) return wrong(fmt::format("block {} has no bytes", alloc.id));
  live_[alloc.id] = static_cast<std::uint32_t>(trace_.blocks.size());
  add(TraceEvent::Kind::kAlloc, trace_.blocks.size());
  trace_.blocks.push_back({.id = alloc.id,
                           .bytes = alloc.bytes,
                           .stream = stream(alloc.stream),
                           .tag = word(alloc.tag),
                           .device = static_cast<std::uint32_t>(alloc.device),
                           .recompute = alloc.recompute,
                           .remakable = alloc.recompute.has_value()});
  return {};
}

Status TraceBuilder::free(std::uint64_t id) {
  TESSERA_TRY(check_room(0));
  const auto found = live_.find(id);
  if (found == live_.end()) return wrong(fmt::format("free of block {}, which is not allocated", id));
  add(TraceEvent::Kind::kFree, found->second);
  live_.erase(found);
  return {};
}

// Sorted, without duplicates.
Result<std::vector<std::uint32_t>> TraceBuilder::blocks_of(std::span<const std::uint64_t> ids) const {
  std::vector<std::uint32_t> blocks;
  blocks.reserve(ids.size());
  for (const std::uint64_t id : ids) {
    const auto found = live_.find(id);
    if (found == live_.end()) return wrong(fmt::format("use of block {}, which is not allocated", id));
    blocks.push_back(found->second);
  }
  std::ranges::sort(blocks);
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  return blocks;
}

// Sorted, each once.
Result<std::vector<TraceBuilder::BlockPart>> TraceBuilder::check_parts(std::span<const Part> parts) const {
  std::vector<BlockPart> checked;
  for (const Part& part : parts) {
    const auto found = live_.find(part.id);
    if (found == live_.end()) return wrong(fmt::format("use of block {}, which is not allocated", part.id));
    const Bytes whole = trace_.blocks[found->second].bytes;
    if (!part.bytes) return wrong(fmt::format("a part of block {} has no bytes", part.id));
    if (part.offset > whole || part.bytes > whole - part.offset) {
      return wrong(fmt::format("{} bytes at offset {} are not inside block {}, which has {} bytes", part.bytes.value(),
                               part.offset.value(), part.id, whole.value()));
    }
    checked.push_back({found->second, part.offset, part.bytes});
  }
  std::ranges::sort(checked);
  checked.erase(std::unique(checked.begin(), checked.end()), checked.end());
  return checked;
}

// Of the operands from `first` on.
void TraceBuilder::add_parts(std::size_t first, std::span<const BlockPart> parts) {
  if (parts.empty()) return;
  for (std::size_t operand = first; operand < trace_.operands.size(); ++operand) {
    const std::uint32_t block = trace_.operands[operand];
    for (auto part = std::ranges::lower_bound(parts, block, {}, &BlockPart::block);
         part != parts.end() && part->block == block; ++part) {
      trace_.parts.push_back({operand, part->offset, part->bytes});
    }
  }
}

Status TraceBuilder::op(const Op& op) {
  TESSERA_TRY(check_room(op.device));
  std::vector<std::uint32_t> reads, writes;
  std::vector<BlockPart> parts;
  TESSERA_TRY_ASSIGN(parts, check_parts(op.parts));
  TESSERA_TRY_ASSIGN(reads, blocks_of(op.reads));
  TESSERA_TRY_ASSIGN(writes, blocks_of(op.writes));
  const std::vector<std::uint32_t> only_read = without(reads, writes);
  const std::vector<std::uint32_t> only_written = without(writes, reads);
  const std::vector<std::uint32_t> updated = without(writes, only_written);
  if (!op.time) untimed_.push_back(static_cast<std::uint32_t>(trace_.ops.size()));
  add(TraceEvent::Kind::kOp, trace_.ops.size());
  trace_.ops.push_back({.time = op.time.value_or(Nanoseconds()),
                        .first = trace_.operands.size(),
                        .reads = static_cast<std::uint32_t>(only_read.size()),
                        .writes = static_cast<std::uint32_t>(writes.size()),
                        .updates = static_cast<std::uint32_t>(updated.size()),
                        .stream = stream(op.stream),
                        .device = static_cast<std::uint32_t>(op.device),
                        .name = word(op.name)});
  for (const auto* part : {&only_read, &updated, &only_written}) {
    trace_.operands.insert(trace_.operands.end(), part->begin(), part->end());
  }
  add_parts(trace_.ops.back().first, parts);
  return {};
}

void TraceBuilder::took(std::string_view name, std::uint64_t device, std::uint64_t blocks, Bytes bytes,
                        Nanoseconds time) {
  kind_times_.note({static_cast<std::uint32_t>(device), word(name), blocks, bytes}, time);
}

Status TraceBuilder::mark(std::string_view kind, std::uint64_t number) {
  TESSERA_TRY(check_room(0));
  add(TraceEvent::Kind::kMark, trace_.marks.size());
  trace_.marks.push_back({word(kind), number});
  return {};
}

Status TraceBuilder::recompute(std::uint64_t id, Nanoseconds time) {
  TESSERA_TRY(check_room(0));
  const auto found = live_.find(id);
  if (found == live_.end()) return wrong(fmt::format("recomputation of block {}, which is not allocated", id));
  add(TraceEvent::Kind::kRecompute, trace_.recomputes.size());
  trace_.recomputes.push_back({found->second, time});
  trace_.blocks[found->second].remakable |= static_cast<bool>(time);
  return {};
}

void TraceBuilder::add(TraceEvent::Kind kind, std::size_t index) {
  trace_.events.push_back({kind, static_cast<std::uint32_t>(index)});
}

std::uint32_t TraceBuilder::word(std::string_view text) {
  const auto [at, is_new] = words_.try_emplace(std::string(text), static_cast<std::uint32_t>(trace_.words.size()));
  if (is_new) trace_.words.emplace_back(text);
  return at->second;
}

std::uint32_t TraceBuilder::stream(std::uint64_t id) {
  const auto [at, is_new] = streams_.try_emplace(id, static_cast<std::uint32_t>(trace_.streams.size()));
  if (is_new) trace_.streams.push_back(id);
  return at->second;
}

Trace TraceBuilder::take() {
  kind_times_.give(trace_, untimed_);
  return std::move(trace_);
}

}  // namespace tessera
