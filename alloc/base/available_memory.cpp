#include "base/available_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>

namespace tessera {
namespace {

// The number behind `key` in a file of keys and numbers, or without a key its first; nothing for "max"
// or no such file.
std::optional<std::uint64_t> number_in(const std::string& path, const char* key = nullptr) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  if (key == nullptr) {
    if (file >> number) return number;
    return std::nullopt;
  }
  for (std::string word; file >> word;) {
    if (word == key && file >> number) return number;
    file.clear();
  }
  return std::nullopt;
}

struct GroupFiles {
  const char* limit;
  const char* usage;
  const char* cache;  // in memory.stat: what goes before anybody is killed
};
constexpr GroupFiles kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"};
constexpr GroupFiles kVersion2{"memory.max", "memory.current", "inactive_file"};

// What the group and those it lies in leave. A container may see its own group as the top, under the
// name that the group has outside: folders that are not there are passed over.
std::optional<Bytes> left_in(const std::string& top, std::string group, const GroupFiles& files) {
  std::optional<Bytes> least;
  for (;;) {
    const std::string folder = top + group + "/";
    const auto limit = number_in(folder + files.limit);
    const auto usage = number_in(folder + files.usage);
    if (limit && usage) {
      const std::uint64_t cache = number_in(folder + "memory.stat", files.cache).value_or(0);
      const std::uint64_t held = *usage - std::min(*usage, cache);
      const Bytes left(*limit - std::min(*limit, held));
      least = std::min(least.value_or(left), left);
    }
    if (group.empty()) return least;
    group.resize(group.rfind('/'));
  }
}

bool has_memory(const std::string& controllers) {
  return ("," + controllers + ",").find(",memory,") != std::string::npos;
}

}  // namespace

Bytes available_memory(const std::string& root) {
  const auto kib = number_in(root + "proc/meminfo", "MemAvailable:");
  if (!kib) return {};
  Bytes available(*kib << 10);
  // Lines of "number:controllers:group"; version 2 has no controllers.
  std::ifstream groups(root + "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string group = line.substr(second + 1);
    if (group.empty() || group.front() != '/') continue;
    if (group.back() == '/') group.pop_back();
    std::optional<Bytes> left;
    if (controllers.empty()) left = left_in(root + "sys/fs/cgroup", group, kVersion2);
    if (has_memory(controllers)) left = left_in(root + "sys/fs/cgroup/memory", group, kVersion1);
    if (left) available = std::min(available, *left);
  }
  return available;
}

}  // namespace tessera
