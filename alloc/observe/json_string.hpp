// Encodes arbitrary bytes as a JSON string; names of kernels and tags come from programs.
//
// Thread safety: stateless.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

// Includes the quotes. Bytes that are not valid UTF-8 are replaced.
std::string json_string(std::string_view text);

}  // namespace tessera
