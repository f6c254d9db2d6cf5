// PTX given as a kernel object: the software device uses a host build of its source instead.
//
// No PTX is executed here. A library that embeds kernels as PTX compiles them for the host too, and installs each build
// next to the software driver, named after its entry.
//
// Thread safety: stateless.
#pragma once

#include <optional>
#include <string>

namespace tessera::softcuda {

// The first entry of the text; nothing if the image is not PTX. REQUIRES: text is zero-terminated, as for
// cuModuleLoadData.
std::optional<std::string> entry_of_ptx(const void* image);
// The path of its host build.
std::string host_build_of(const std::string& entry);

}  // namespace tessera::softcuda
