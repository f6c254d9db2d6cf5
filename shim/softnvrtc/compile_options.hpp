// NVRTC's options as arguments for the host compiler.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace softnvrtc {

// Passes on include folders, macros and the language. Options about GPU code are accepted and ignored. Returns nothing
// if an option is not one of NVRTC's; `unknown` is then set to it.
std::optional<std::vector<std::string>> host_options(std::span<const char* const> options, std::string& unknown);

}  // namespace softnvrtc
