// The headers that every kernel is compiled with, embedded in the library.
//
// Thread safety: constants.
#pragma once

#include <span>
#include <string_view>

namespace softnvrtc {

struct DeviceHeader {
  const char* path;  // relative to the compilation folder; used in their mutual includes
  std::string_view text;
};

std::span<const DeviceHeader> device_headers();

// The header included before each source, and the folder for #include <...>.
inline constexpr const char* kFirstHeader = "shim/softnvrtc/device/softnvrtc.hpp";
inline constexpr const char* kHeaderFolder = "shim/softnvrtc/device";

}  // namespace softnvrtc
