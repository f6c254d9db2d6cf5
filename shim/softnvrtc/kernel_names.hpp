// Reads from a source which kernels it has, and what else the compilation depends on, by its words alone.
//
// Why: a kernel object holds a descriptor for each kernel, which a line after the source makes, and
// that line needs the name. Only extern "C" kernels are looked for; others have a name that the
// program asks for by nvrtcAddNameExpression. That a macro makes kernels is seen, and not which: that takes the text
// with its macros expanded.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace softnvrtc {

struct SourceFacts {
  std::vector<std::string> kernels;  // extern "C" ones that are defined, each once
  bool has_meetings = false;         // threads wait for each other: barriers, warp functions
  bool has_kernel_macros = false;    // a #define says __global__
  // It defines them itself. NVRTC knows none of them, and the host's headers do, as other types.
  std::vector<std::string> own_integers;  // names of <stdint.h>
};

SourceFacts read_source(std::string_view source);

}  // namespace softnvrtc
