#include "base/available_tasks.hpp"

#include <algorithm>

#include "base/control_groups.hpp"

namespace tessera {

std::uint64_t available_tasks(const std::string& root) {
  std::uint64_t available = UINT64_MAX;
  for (const ControlGroup& group : control_groups("pids", root)) {
    const auto limit = number_in(group.folder + "pids.max"), used = number_in(group.folder + "pids.current");
    if (limit && used) available = std::min(available, *limit - std::min(*limit, *used));
  }
  return available;
}

}  // namespace tessera
