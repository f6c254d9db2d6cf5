#include "base/available_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/control_groups.hpp"

namespace tessera {
namespace {

struct GroupFiles {
  const char* limit;
  const char* slow_down;  // above this the kernel reclaims aggressively and the group all but stops
  const char* usage;
  const char* cache;  // key in memory.stat: reclaimed before a process is killed
};
constexpr GroupFiles kVersion1{"memory.limit_in_bytes", "", "memory.usage_in_bytes", "total_inactive_file"};
constexpr GroupFiles kVersion2{"memory.max", "memory.high", "memory.current", "inactive_file"};

std::optional<std::uint64_t> least_of(std::optional<std::uint64_t> a, std::optional<std::uint64_t> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// Empty for a group that does not exist or has no limit.
std::optional<Bytes> left_in(const ControlGroup& group) {
  const GroupFiles& files = group.second_version ? kVersion2 : kVersion1;
  auto limit = number_in(group.folder + files.limit);
  if (*files.slow_down != '\0') limit = least_of(limit, number_in(group.folder + files.slow_down));
  const auto usage = number_in(group.folder + files.usage);
  if (!limit || !usage) return std::nullopt;
  const std::uint64_t cache = number_in(group.folder + "memory.stat", files.cache).value_or(0);
  const std::uint64_t held = *usage - std::min(*usage, cache);
  return Bytes(*limit - std::min(*limit, held));
}

}  // namespace

Bytes available_memory(const std::string& root) {
  const auto kib = number_in(root + "proc/meminfo", "MemAvailable:");
  if (!kib) return {};
  Bytes available(*kib << 10);
  for (const ControlGroup& group : control_groups("memory", root)) {
    if (const auto left = left_in(group)) available = std::min(available, *left);
  }
  return available;
}

}  // namespace tessera
