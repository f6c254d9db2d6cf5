// What every benchmark program is: it reads --smoke and --json, refuses to measure in a build with
// assertions, and prints its environment with its results.
//
// Thread safety: none; one thread measures.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "base/check.hpp"

namespace tessera::bench {

struct Results {
  nlohmann::ordered_json json;  // an object: stands beside the environment
  std::function<void()> print;  // as tables
};

struct Program {
  const char* about;
  const char* smoke;            // what a smoke run does
  std::string build_directory;  // as read_environment has it
  std::string data_directory;   // likewise
  bool has_assertions = kTesseraChecked;
};

// The program's main(): `measure` is told whether this is a smoke run, and returns nothing after it has
// said why it failed.
int run_program(int argc, char** argv, const Program& program,
                const std::function<std::optional<Results>(bool smoke)>& measure);

}  // namespace tessera::bench
