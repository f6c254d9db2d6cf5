// The host compiler, `c++`, as a function: a source in, a shared object and what it said out.
//
// It runs as a process of its own in a private folder under the machine's folder for temporary files,
// which is gone when the call returns.
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
  std::string log;  // of a compiler that could not be started too
};

CompileResult compile(const CompileRequest& request);
// The object is the text with all macros expanded but __global__.
CompileResult expand_macros(const CompileRequest& request);

}  // namespace softnvrtc
