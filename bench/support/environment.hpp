// Where a number was measured: processor, kernel, memory, disk, compiler, commit, build type.
//
// No benchmark prints a result without it, and none measures in a build with assertions: a number
// without its circumstances is a rumour.
//
// Thread safety: a value; reading it asks the system and starts one short child process.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace tessera::bench {

// Facts in the order in which they are printed: ("cpu", "... x 2"), ("kernel", ...), ...
using Environment = std::vector<std::pair<std::string, std::string>>;

// `build_directory` lies in the source tree, whose commit is named; `data_directory` is where the
// benchmark writes, or empty when it writes nothing.
Environment read_environment(const std::string& build_directory,
                             const std::string& data_directory = "");

void print(const Environment& environment);
nlohmann::ordered_json to_json(const Environment& environment);

// False in builds with assertions, after saying so. A smoke run, which measures nothing, may go on.
bool may_measure(bool has_assertions);

}  // namespace tessera::bench
