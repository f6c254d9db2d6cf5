#include "driver/sim_transfer.hpp"

#include <algorithm>
#include <cstring>

#include "base/thread_checker.hpp"

namespace tessera {
namespace {

constexpr std::size_t kFillPart = 64 << 10;

}  // namespace

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
    std::memcpy(to.data(), &value, width);
    // What is filled fills as much again, as far as a processor's cache keeps it.
    for (std::size_t done = width; done < to.size();) {
      const std::size_t part = std::min({done, kFillPart, to.size() - done});
      std::memcpy(to.data() + done, to.data(), part);
      done += part;
    }
    return Status();
  };
  return work;
}

}  // namespace tessera
