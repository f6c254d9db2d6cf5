#include "remapping.hpp"

#include <cstddef>

namespace tessera::bench {

void Remapping::note(const DriverRecord& record) {
  if (record.code != Code::kOk) return;
  std::size_t kind = 0;
  while (kind < kPrices.size() && kPrices[kind].call != record.call) ++kind;
  if (kind == kPrices.size()) return;
  ++costs_.calls[kind];
  const auto pay = [&](std::uint64_t bytes) { costs_.microseconds += kPrices[kind].of(Bytes(bytes)); };
  const auto& [first, second, third, fourth] = record.operands;
  switch (record.call) {
    case DriverCall::kCreateFrame:  // device, kind of memory, bytes
      frames_[record.result] = third;
      return pay(third);
    case DriverCall::kDestroyFrame:
      pay(frames_[first]);
      frames_.erase(first);
      return;
    case DriverCall::kMap:  // address, bytes, frame
      mapped_[first] = second;
      return pay(second);
    default: break;
  }
  // Access or unmapping: address, bytes.
  const auto begin = mapped_.lower_bound(first), end = mapped_.lower_bound(first + second);
  for (auto mapping = begin; mapping != end; ++mapping) pay(mapping->second);
  if (record.call == DriverCall::kUnmap) mapped_.erase(begin, end);
}

}  // namespace tessera::bench
