// The control groups of this process, of version 1 or 2, and the numbers in their files.
//
// Thread safety: stateless.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

struct ControlGroup {
  std::string folder;  // ends with "/"; need not be there
  bool second_version = false;
};

// Those that hold this process for `controller` ("memory", "cpu"), and those they lie in, up to the top. A container
// may see its own group as the top, under the name that the group has outside: then some folders are not there. `root`
// is the folder that has proc/ and sys/: "/" but for tests.
std::vector<ControlGroup> control_groups(const std::string& controller, const std::string& root);

// The number behind `key` in a file of keys and numbers, or without a key its first; nothing for "max" or no such file.
std::optional<std::uint64_t> number_in(const std::string& path, const char* key = nullptr);

}  // namespace tessera
