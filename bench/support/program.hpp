// The frame of every benchmark program: it reads --smoke and --json, refuses to measure where times mean nothing, and
// prints its environment with its results.
//
// Thread safety: none; one thread measures.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "environment.hpp"

namespace tessera::bench {

struct Results {
  nlohmann::ordered_json json;  // an object, printed next to the environment
  std::function<void()> print;  // as tables
};

struct Program {
  const char* about;
  const char* smoke;            // what a smoke run does
  std::string build_directory;  // as for read_environment()
  std::string data_directory;   // as for read_environment()
  bool is_measurable = kIsMeasurable;
};

// The program's main(). `measure` receives whether this is a smoke run. It returns an empty result after printing why
// it failed.
int run_program(int argc, char** argv, const Program& program,
                const std::function<std::optional<Results>(bool smoke)>& measure);

}  // namespace tessera::bench
