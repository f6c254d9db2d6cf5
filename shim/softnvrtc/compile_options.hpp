// NVRTC's options as words for the host compiler.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace softnvrtc {

// What reaches the host compiler: include folders, macros, the language. Options about the GPU's code
// are known and change nothing. Nothing when an option is none of NVRTC's; `unknown` is set to it.
std::optional<std::vector<std::string>> host_options(std::span<const char* const> options,
                                                     std::string& unknown);

}  // namespace softnvrtc
