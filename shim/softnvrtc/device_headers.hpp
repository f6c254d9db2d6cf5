// The headers that every kernel is compiled with, held in the library itself.
//
// Thread safety: constants.
#pragma once

#include <span>
#include <string_view>

namespace softnvrtc {

struct DeviceHeader {
  const char* path;  // below a folder of the compilation; they include each other by it
  std::string_view text;
};

std::span<const DeviceHeader> device_headers();

// The one that stands in front of each source, and the folder for #include <...>.
inline constexpr const char* kFirstHeader = "shim/softnvrtc/device/softnvrtc.hpp";
inline constexpr const char* kHeaderFolder = "shim/softnvrtc/device";

}  // namespace softnvrtc
