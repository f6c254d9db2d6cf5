#include "lab/replay/kind_times.hpp"

#include <algorithm>

namespace tessera {
namespace {

KindTimes::Kind kind_of(const Trace& trace, const TraceOp& op) {
  const auto blocks = trace.operands_of(op);
  Bytes bytes;
  for (const std::uint32_t block : blocks) bytes += trace.blocks[block].bytes;
  return {op.device, op.name, blocks.size(), bytes};
}

Nanoseconds median(std::vector<Nanoseconds> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace

void KindTimes::give(Trace& trace, std::span<const std::uint32_t> ops) const {
  std::map<Kind, Nanoseconds> medians;
  for (const auto& [kind, times] : times_) medians.emplace(kind, median(times));
  for (const std::uint32_t op : ops) {
    const auto known = medians.find(kind_of(trace, trace.ops[op]));
    if (known != medians.end()) trace.ops[op].time = known->second;
  }
}

}  // namespace tessera
