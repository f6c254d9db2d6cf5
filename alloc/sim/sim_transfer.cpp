#include "sim/sim_transfer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/thread_checker.hpp"
#include "driver/fingerprint_lane.h"

namespace tessera {
namespace {

constexpr std::size_t kFillPart = 64 << 10;

Fingerprint fingerprint_of(std::span<const std::byte> part, std::uint64_t first_lane) {
  tessera_print sum = {0, 0};
  for (std::size_t at = 0; at < part.size(); at += 2 * sizeof(std::uint64_t)) {
    std::uint64_t words[2];
    std::memcpy(words, part.data() + at, sizeof(words));
    tessera_print_add(&sum, words[0], words[1], first_lane + at / sizeof(words));
  }
  return {sum.low, sum.high};
}

}  // namespace

SimWork make_transfer(const char* name, std::span<std::byte> to, std::span<const std::byte> from) {
  SimWork work;
  work.name = name;
  if (to.empty()) return work;  // it only takes time
  work.run = [to, from](const SimWork&) {
    // A page may be written while it is copied out: it is then forwarded, and the copy is dropped.
    const UncheckedReads forwarding(to.data(), to.size());
    // Overlapping copies are the program's error on a GPU; here they are merely defined.
    std::memmove(to.data(), from.data(), to.size());
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
    // The filled part is copied as often as needed, up to a size that fits a processor's cache.
    for (std::size_t done = width; done < to.size();) {
      const std::size_t part = std::min({done, kFillPart, to.size() - done});
      std::memcpy(to.data() + done, to.data(), part);
      done += part;
    }
    return Status();
  };
  return work;
}

SimWork make_fingerprints(std::vector<std::span<const std::byte>> ranges, Fingerprint* to) {
  SimWork work;
  work.name = "fingerprint";
  work.run = [ranges = std::move(ranges), to](const SimWork&) {
    constexpr std::size_t kPart = kFingerprintPart.value();
    Fingerprint* next = to;
    for (const std::span<const std::byte> range : ranges) {
      const std::size_t parts = range.size() / kPart;
      // A page may be written meanwhile, as while it is copied out.
      const UncheckedReads forwarding(next, parts * sizeof(Fingerprint));
      for (std::size_t part = 0; part < parts; ++part) {
        *next++ = fingerprint_of(range.subspan(part * kPart, kPart), part * (kPart / 16));
      }
    }
    return Status();
  };
  return work;
}

}  // namespace tessera
