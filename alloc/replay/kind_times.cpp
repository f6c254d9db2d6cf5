#include "replay/kind_times.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

namespace tessera {
namespace {

using OpKind = std::tuple<std::uint32_t, std::uint32_t, std::size_t, Bytes>;  // device, name, operands, their bytes

OpKind kind_of(const Trace& trace, const TraceOp& op) {
  const auto operands = trace.operands_of(op);
  Bytes bytes;
  for (const std::uint32_t block : operands) bytes += trace.blocks[block].bytes;
  return {op.device, op.name, operands.size(), bytes};
}

Nanoseconds median(std::vector<Nanoseconds>& times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace

void give_times_of_their_kind(Trace& trace, std::span<const std::uint32_t> timed,
                              std::span<const std::uint32_t> unknown) {
  std::map<OpKind, std::vector<Nanoseconds>> by_kind;
  for (const std::uint32_t op : timed) by_kind[kind_of(trace, trace.ops[op])].push_back(trace.ops[op].time);
  std::map<OpKind, Nanoseconds> medians;
  for (auto& [kind, times] : by_kind) medians.emplace(kind, median(times));
  for (const std::uint32_t op : unknown) {
    const auto known = medians.find(kind_of(trace, trace.ops[op]));
    if (known != medians.end()) trace.ops[op].time = known->second;
  }
}

}  // namespace tessera
