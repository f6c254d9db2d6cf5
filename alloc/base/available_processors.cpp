#include "base/available_processors.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>
#include <thread>

#include "base/control_groups.hpp"

namespace tessera {
namespace {

constexpr double kLeast = 0.01;

double allowed_processors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  const bool known = ::sched_getaffinity(0, sizeof(allowed), &allowed) == 0;
  // A machine with more processors than a cpu_set_t holds fails this query.
  return known ? CPU_COUNT(&allowed) : std::max(1U, std::thread::hardware_concurrency());
}

// Empty without a quota: "max" in version 2, -1 in version 1.
std::optional<double> quota_of(const ControlGroup& group) {
  std::uint64_t quota = 0, period = 0;
  if (group.second_version) {
    std::ifstream file(group.folder + "cpu.max");
    if (!(file >> quota >> period)) return std::nullopt;
  } else {
    const auto first = number_in(group.folder + "cpu.cfs_quota_us");
    const auto second = number_in(group.folder + "cpu.cfs_period_us");
    std::ifstream file(group.folder + "cpu.cfs_quota_us");
    if (!first || !second || file.peek() == '-') return std::nullopt;
    quota = *first;
    period = *second;
  }
  if (quota == 0 || period == 0) return std::nullopt;
  return static_cast<double>(quota) / static_cast<double>(period);
}

}  // namespace

double available_processors(const std::string& root) {
  double available = allowed_processors();
  for (const ControlGroup& group : control_groups("cpu", root)) {
    if (const auto quota = quota_of(group)) available = std::min(available, *quota);
  }
  return std::max(available, kLeast);
}

}  // namespace tessera
