#include "driver/sim_transfer.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace tessera {
namespace {

// Moves all bytes, whatever the two cuts are. Returns how many.
std::uint64_t move_bytes(const SimPieces& to, const SimPieces& from) {
  std::uint64_t moved = 0;
  auto source = from.begin();
  std::size_t used = 0;  // of *source
  for (std::span<std::byte> target : to) {
    while (!target.empty()) {
      const std::size_t count = std::min(target.size(), source->size() - used);
      // Overlapping copies are the program's error on a GPU; here they are merely defined.
      std::memmove(target.data(), source->data() + used, count);
      target = target.subspan(count);
      moved += count;
      used += count;
      if (used == source->size()) {
        ++source;
        used = 0;
      }
    }
  }
  return moved;
}

// The link is busy until its bytes could have passed.
void keep_pace(const SimPace& pace, Nanoseconds start, std::uint64_t bytes) {
  const double nanoseconds =
      static_cast<double>(bytes) * 1e9 / static_cast<double>(pace.bytes_per_second);
  const Nanoseconds until = start + Nanoseconds(static_cast<std::uint64_t>(nanoseconds));
  const Nanoseconds now = pace.clock->now();
  if (now >= until) return;
  std::this_thread::sleep_for(std::chrono::nanoseconds((until - now).value()));
}

}  // namespace

SimWork make_transfer(const char* name, SimPieces to, SimPieces from, SimPace pace) {
  SimWork work;
  work.name = name;
  work.run = [to = std::move(to), from = std::move(from), pace](const SimWork&) {
    const Nanoseconds start = pace.clock->now();
    const std::uint64_t bytes = move_bytes(to, from);
    if (pace.bytes_per_second != 0) keep_pace(pace, start, bytes);
    return Status();
  };
  return work;
}

SimWork make_fill(SimPieces to, std::uint32_t value, std::uint32_t width) {
  SimWork work;
  work.name = "fill";
  work.run = [to = std::move(to), value, width](const SimWork&) {
    for (const std::span<std::byte> piece : to) {
      if (width == 1) {
        std::memset(piece.data(), static_cast<int>(value & 0xff), piece.size());
        continue;
      }
      for (std::size_t at = 0; at < piece.size(); at += width) {
        std::memcpy(piece.data() + at, &value, width);
      }
    }
    return Status();
  };
  return work;
}

}  // namespace tessera
