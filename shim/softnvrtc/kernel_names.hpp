// Finds a source's kernels, and other facts needed for compilation, by lexical analysis alone.
//
// Why: a kernel object has a descriptor for each kernel, which is defined by a line after the source, and that line
// needs the name. Only extern "C" kernels are searched for; the program obtains the names of others by
// nvrtcAddNameExpression. If kernels are defined by macros, that fact is detected but not their names; for those, the
// text is needed with its macros expanded.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace softnvrtc {

struct SourceFacts {
  std::vector<std::string> kernels;  // defined extern "C" kernels, each once
  bool has_meetings = false;         // threads wait for each other: barriers, warp functions
  bool has_kernel_macros = false;    // a #define contains __global__
  // Types of <stdint.h> that the source defines itself: NVRTC does not predefine them, but the host's headers do, as
  // other types.
  std::vector<std::string> own_integers;  // their names
};

SourceFacts read_source(std::string_view source);

}  // namespace softnvrtc
