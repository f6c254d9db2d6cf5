#include "lab/replay/trace.hpp"

#include <algorithm>

namespace tessera {

std::uint32_t Trace::devices() const {
  std::uint32_t most = 0;
  for (const TraceBlock& block : blocks) most = std::max(most, block.device);
  for (const TraceOp& op : ops) most = std::max(most, op.device);
  return most + 1;
}

std::span<const TracePart> Trace::parts_of(std::size_t operand) const {
  return {std::ranges::lower_bound(parts, operand, {}, &TracePart::operand),
          std::ranges::upper_bound(parts, operand, {}, &TracePart::operand)};
}

}  // namespace tessera
