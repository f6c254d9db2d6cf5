// Runs the host compiler, `c++`: takes a source, returns a shared object and the log.
//
// It runs as a separate process in a private folder under the system's temporary folder, which is removed before the
// call returns.
//
// Thread safety: any thread, at the same time.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace softnvrtc {

struct CompileRequest {
  std::string source;
  // (name as in #include, text)
  std::vector<std::pair<std::string, std::string>> headers;
  std::vector<std::string> options;
};

struct CompileResult {
  bool succeeded = false;
  std::string object;
  std::string log;  // also filled if the compiler could not be started
};

CompileResult compile(const CompileRequest& request);
// The object is the source text with all macros except __global__ expanded.
CompileResult expand_macros(const CompileRequest& request);

}  // namespace softnvrtc
