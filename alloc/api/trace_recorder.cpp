#include "api/trace_recorder.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <unordered_set>
#include <vector>

#include "api/outputs.hpp"
#include "base/log.hpp"
#include "observe/text_file.hpp"

namespace tessera {
namespace {

// A trace that cannot be opened does not prevent the start either; null if there is none.
std::unique_ptr<TraceWriter> open_trace(const Options& options, const Clock& clock) {
  if (options.trace.empty()) return nullptr;
  auto trace = TraceWriter::open(path_of_process(options.trace),
                                 {program_invocation_short_name, options.device_memory.value_or(SizeOrShare()).bytes},
                                 clock, TraceWriter::kDefaultLimit, left_in(options.trace, options.under_run));
  if (trace.is_ok()) return trace.take();
  log_line(LogLevel::kWarning, "no trace: {}", trace.status().to_string());
  return nullptr;
}

// The runs that are meant. Where that is all of a range that exceeds the device, the one that contains the address.
template <class Named>
std::vector<Run*> in_range(DeviceHeap& heap, Run* run, const Named& named) {
  std::vector<Run*> runs;
  for_each_named(heap.pages().map(), run, named, [&](Run* meant) {
    if (!meant->is_range) return runs.push_back(meant);
    runs = heap.residency().ranges().fits({&meant, 1}) ? heap.residency().ranges().parts_of(*meant)
                                                       : std::vector<Run*>{run};
  });
  return runs;
}

}  // namespace

TraceRecorder::TraceRecorder(const DeviceHeaps& heaps, Driver& driver, const Options& options, const Clock& clock)
    : heaps_(heaps), trace_(open_trace(options, clock)) {
  if (trace_) times_ = std::make_unique<OpTimes>(driver, *trace_);
}

template <class Named>
TraceWriter::OpKind TraceRecorder::op(std::span<const Named> named, StreamId stream, Access access,
                                      std::string_view name) {
  TraceWriter::OpKind kind{.name = std::string(name), .blocks = 0, .bytes = {}, .device = {}};
  std::vector<TraceWriter::Operand> operands;
  std::unordered_set<const Run*> of_ranges;
  for (const Named& each : named) {
    DeviceHeap* const heap = heaps_.of(address_of(each));
    if (heap == nullptr) continue;
    kind.device = heap->device();
    const BlockCache::Lookup lookup(heap->blocks());
    const auto block = lookup.block_of(address_of(each));
    if (!block) continue;
    if (block->run->row != nullptr) {
      for (const Run* const run : in_range(*heap, block->run, each)) {
        const TraceWriter::Operand whole{.id = run->address.value()};
        if (!of_ranges.insert(run).second) continue;
        operands.push_back(whole);
        kind.bytes += run->shape.bytes();
      }
      continue;
    }
    TraceWriter::Operand operand{.id = block->address.value()};
    if (block->bytes >= kLeastRow) {
      const Extent part = named_bytes(*block->run, each);
      if (part.bytes < block->bytes) operand = {block->address.value(), part.offset, part.bytes};
    }
    if (std::ranges::find(operands, operand) != operands.end()) continue;
    operands.push_back(operand);
    kind.bytes += operand.bytes ? operand.bytes : block->bytes;
  }
  kind.blocks = operands.size();
  const std::span<const TraceWriter::Operand> writes =
      access == Access::kRead ? std::span<const TraceWriter::Operand>() : operands;
  trace_->op(name, stream, kind.device, operands, writes);
  return kind;
}

template TraceWriter::OpKind TraceRecorder::op(std::span<const Address>, StreamId, Access, std::string_view);
template TraceWriter::OpKind TraceRecorder::op(std::span<const AddressRange>, StreamId, Access, std::string_view);

Status TraceRecorder::finish() {
  times_->look();
  return trace_->flush();
}

}  // namespace tessera
