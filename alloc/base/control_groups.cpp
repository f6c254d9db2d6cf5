#include "base/control_groups.hpp"

#include <fstream>
#include <string_view>

namespace tessera {
namespace {

bool names(std::string_view controllers, const std::string& controller) {
  return ("," + std::string(controllers) + ",").find("," + controller + ",") != std::string::npos;
}

void add_up_to_top(const std::string& top, std::string group, bool second_version, std::vector<ControlGroup>& groups) {
  for (;;) {
    groups.push_back({top + group + "/", second_version});
    if (group.empty()) return;
    group.resize(group.rfind('/'));
  }
}

}  // namespace

std::vector<ControlGroup> control_groups(const std::string& controller, const std::string& root) {
  std::vector<ControlGroup> groups;
  // Lines of "number:controllers:group"; version 2 has no controllers.
  std::ifstream lines(root + "proc/self/cgroup");
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string group = line.substr(second + 1);
    if (group.empty() || group.front() != '/') continue;
    if (group.back() == '/') group.pop_back();
    if (controllers.empty()) {
      add_up_to_top(root + "sys/fs/cgroup", group, true, groups);
    } else if (names(controllers, controller)) {
      add_up_to_top(root + "sys/fs/cgroup/" + controller, group, false, groups);
      // Controllers that are mounted together usually share one folder, such as "cpu,cpuacct".
      if (controllers != controller) add_up_to_top(root + "sys/fs/cgroup/" + controllers, group, false, groups);
    }
  }
  return groups;
}

std::optional<std::uint64_t> number_in(const std::string& path, const char* key) {
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

}  // namespace tessera
