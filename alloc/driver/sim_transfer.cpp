#include "driver/sim_transfer.hpp"

#include <cstring>

#include "base/thread_checker.hpp"

namespace tessera {
SimWork make_transfer(const char* name, std::span<std::byte> to, std::span<const std::byte> from) {
  SimWork work;
  work.name = name;
  work.run = [to, from](const SimWork&) {
    // A page may be written while it is copied out: that is forwarding, and the copy is dropped.
    const UncheckedReads forwarding(to.data(), to.size());
    // Overlapping copies are the program's error on a GPU; here they are merely defined.
    if (!to.empty()) std::memmove(to.data(), from.data(), to.size());
    return Status();
  };
  return work;
}

SimWork make_fill(std::span<std::byte> to, std::uint32_t value, std::uint32_t width) {
  SimWork work;
  work.name = "fill";
  work.run = [to, value, width](const SimWork&) {
    if (to.empty()) return Status();
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
