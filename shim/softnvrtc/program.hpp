// An nvrtcProgram: its inputs, and the results of its compilation.
//
// Handles are checked against the existing programs, so that an invalid one gives an error and not a crash.
//
// Thread safety: programs may be made, found and destroyed by any thread; a single program is used by one thread at a
// time, as NVRTC requires.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nvrtc_api.hpp"

namespace softnvrtc {

struct Program {
  std::string source;
  std::string name;
  std::vector<std::pair<std::string, std::string>> headers;
  std::map<std::string, std::string> expressions;  // name expression -> name for cuModuleGetFunction
  bool compiled = false;                           // a compilation was attempted
  std::string object;
  std::string log;
};

nvrtcProgram add(std::unique_ptr<Program> program);
// Null for an unknown handle.
Program* find(nvrtcProgram handle);
void remove(nvrtcProgram handle);

// Errors: NVRTC_ERROR_COMPILATION, with the reason in the log.
nvrtcResult build(Program& program, const std::vector<std::string>& options);

}  // namespace softnvrtc
