// Any bytes as a JSON string: names of kernels and tags come from programs.
//
// Thread safety: stateless.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

// With its quotes. Bytes that are no text are replaced.
std::string json_string(std::string_view text);

}  // namespace tessera
