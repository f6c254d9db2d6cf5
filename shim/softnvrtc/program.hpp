// One nvrtcProgram: what was given, and after a compilation what came of it.
//
// The handle that a program holds is checked against the programs that exist, so that a wrong one is
// an error and no crash.
//
// Thread safety: programs may be made, found and destroyed by any thread; one program is used by one
// thread at a time, as NVRTC says.
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
  std::map<std::string, std::string> expressions;  // to the name that cuModuleGetFunction takes
  bool compiled = false;                           // an attempt was made
  std::string object;
  std::string log;
};

nvrtcProgram add(std::unique_ptr<Program> program);
// Null for what is none.
Program* find(nvrtcProgram handle);
void remove(nvrtcProgram handle);

// Errors: NVRTC_ERROR_COMPILATION, with the reason in the log.
nvrtcResult build(Program& program, const std::vector<std::string>& options);

}  // namespace softnvrtc
