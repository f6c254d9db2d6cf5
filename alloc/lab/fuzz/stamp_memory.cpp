#include "lab/fuzz/stamp_memory.hpp"

namespace tessera {
namespace {

// Addresses of a process have 47 bits; a frame is smaller than 2^32 bytes.
constexpr std::uint64_t kDisk = std::uint64_t{1} << 62;
constexpr std::uint64_t kHost = std::uint64_t{1} << 61;
constexpr int kFrameBits = 32;

}  // namespace

Place device_place(std::uint64_t frame, Bytes offset) { return Place((frame << kFrameBits) + offset.value()); }

Place host_place(const void* host) { return Place(kHost + reinterpret_cast<std::uintptr_t>(host)); }

Place disk_place(Bytes offset) { return Place(kDisk + offset.value()); }

void StampMemory::write(Place start, Bytes bytes, Stamp stamp) {
  write(start, bytes, {{0, stamp}, {bytes.value() - 1, stamp}});
}

void StampMemory::write(Place start, Bytes bytes, const Contents& contents) {
  stamps_.erase(stamps_.lower_bound(start.value()), stamps_.lower_bound(start.value() + bytes.value()));
  for (const auto& [offset, stamp] : contents) {
    stamps_.insert_or_assign(start.value() + offset, stamp);
  }
}

StampMemory::Contents StampMemory::read(Place start, Bytes bytes) const {
  Contents contents;
  const auto end = stamps_.lower_bound(start.value() + bytes.value());
  for (auto stamp = stamps_.lower_bound(start.value()); stamp != end; ++stamp) {
    contents.emplace_back(stamp->first - start.value(), stamp->second);
  }
  return contents;
}

std::optional<Stamp> StampMemory::stamp_of(Place start, Bytes bytes) const {
  const auto first = stamps_.find(start.value());
  const auto last = stamps_.find(start.value() + bytes.value() - 1);
  if (first == stamps_.end() || last == stamps_.end() || first->second != last->second) return {};
  return first->second;
}

std::uint64_t StampMemory::digest(Place start, Bytes bytes) const {
  std::uint64_t sum = 0xcbf29ce484222325;  // FNV-1a, word by word
  for (const auto& [offset, stamp] : read(start, bytes)) {
    for (const std::uint64_t word : {offset, stamp}) sum = (sum ^ word) * 0x100000001b3;
  }
  return sum;
}

}  // namespace tessera
