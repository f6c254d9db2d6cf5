// The environment of a measurement: processor, kernel, memory, disk, compiler, commit, build type.
//
// No benchmark prints a result without it, and none measures in a build with assertions or without optimisation: a
// number without its environment cannot be interpreted.
//
// Thread safety: a value; reading it queries the system and starts one short child process.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/check.hpp"

namespace tessera::bench {

// Facts in the order in which they are printed: ("cpu", "... x 2"), ("kernel", ...), ...
using Environment = std::vector<std::pair<std::string, std::string>>;

// `build_directory` is in the source tree, whose commit is reported. `data_directory` is where the benchmark writes;
// empty if it writes nothing.
Environment read_environment(const std::string& build_directory, const std::string& data_directory = "");

void print(const Environment& environment);
nlohmann::ordered_json to_json(const Environment& environment);

// Whether times of this build mean something. `make bench` optimises the benchmarks; other builds only show that they
// run.
inline constexpr bool kIsMeasurable = !kTesseraChecked && TESSERA_OPTIMISED_BENCH != 0;

// Returns false where times mean nothing, after printing a message. A smoke run, which measures nothing, may go on.
bool may_measure(bool is_measurable);

}  // namespace tessera::bench
