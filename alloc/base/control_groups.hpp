// The control groups of this process, version 1 or 2, and the numbers in their files.
//
// Thread safety: stateless.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

struct ControlGroup {
  std::string folder;  // ends with "/"; may not exist
  bool second_version = false;
};

// The groups that hold this process for `controller` ("memory", "cpu") and all their parents, up to the root. A
// container may see its own group as the root, under the name that the group has outside; some folders then do
// not exist. `root` is the folder that contains proc/ and sys/; anything but "/" is for tests.
std::vector<ControlGroup> control_groups(const std::string& controller, const std::string& root);

// The number that follows `key` in a file of key-number pairs, or without a key the file's first number. Empty
// for "max" or a missing file.
std::optional<std::uint64_t> number_in(const std::string& path, const char* key = nullptr);

}  // namespace tessera
