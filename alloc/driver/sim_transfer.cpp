#include "driver/sim_transfer.hpp"

#include <chrono>
#include <cstring>
#include <thread>

#include "base/thread_checker.hpp"

namespace tessera {
namespace {

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

SimWork make_transfer(const char* name, std::span<std::byte> to, std::span<const std::byte> from,
                      SimPace pace) {
  SimWork work;
  work.name = name;
  work.run = [to, from, pace](const SimWork&) {
    const Nanoseconds start = pace.clock->now();
    {
      // A page may be written while it is copied out: that is forwarding, and the copy is dropped.
      const UncheckedReads forwarding(to.data(), to.size());
      // Overlapping copies are the program's error on a GPU; here they are merely defined.
      std::memmove(to.data(), from.data(), to.size());
    }
    if (pace.bytes_per_second != 0) keep_pace(pace, start, to.size());
    return Status();
  };
  return work;
}

SimWork make_fill(std::span<std::byte> to, std::uint32_t value, std::uint32_t width) {
  SimWork work;
  work.name = "fill";
  work.run = [to, value, width](const SimWork&) {
    if (width == 1) {
      std::memset(to.data(), static_cast<int>(value & 0xff), to.size());
      return Status();
    }
    for (std::size_t at = 0; at < to.size(); at += width) {
      std::memcpy(to.data() + at, &value, width);
    }
    return Status();
  };
  return work;
}

}  // namespace tessera
