#include "fragmentation.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

namespace tessera::bench {

std::optional<Fragmentation> fragmentation(Contender& contender, int operations) {
  if (!contender.reserved()) return std::nullopt;
  const Bytes before = *contender.reserved();  // left over from other workloads
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> exponent(9, 26);
  std::vector<std::pair<std::uint64_t, Bytes>> live;
  Fragmentation most;
  Bytes sum;
  double ratios = 0;
  int samples = 0;
  bool failed = false;
  for (int i = 0; i < operations && !failed; ++i) {
    const Bytes bytes(static_cast<std::uint64_t>(std::exp2(exponent(random))));
    const std::uint64_t number = random();
    if (live.empty() || (number % 8 < 5 && sum + bytes <= 8_GiB)) {
      const std::uint64_t address = contender.allocate(bytes, 0);
      failed = address == 0;
      if (!failed) live.emplace_back(address, bytes);
      sum += failed ? Bytes() : bytes;
    } else {
      std::swap(live[(number >> 3) % live.size()], live.back());
      contender.free(live.back().first, 0);
      sum -= live.back().second;
      live.pop_back();
    }
    if (i % 1000 != 0 || i < operations / 2) continue;
    const Bytes reserved = *contender.reserved() - std::min(before, *contender.reserved());
    if (reserved > most.reserved) most = {sum, reserved, 0};
    ratios += static_cast<double>(reserved.value()) / static_cast<double>(sum.value());
    ++samples;
  }
  for (const auto& [address, bytes] : live) contender.free(address, 0);
  if (failed || samples == 0) return std::nullopt;
  most.mean = ratios / samples;
  return most;
}

std::optional<Bytes> least_memory(const std::function<std::unique_ptr<Contender>(Bytes)>& make, int operations) {
  constexpr Bytes kStep = 64_MiB;
  std::uint64_t too_few = 0, enough = 64_GiB / kStep;
  const auto suffice = [&](std::uint64_t steps) { return fragmentation(*make(kStep * steps), operations).has_value(); };
  if (!suffice(enough)) return std::nullopt;
  while (enough - too_few > 1) {
    const std::uint64_t middle = (too_few + enough) / 2;
    (suffice(middle) ? enough : too_few) = middle;
  }
  return kStep * enough;
}

}  // namespace tessera::bench
