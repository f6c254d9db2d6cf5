// PTX in place of a kernel object: what a software device has for it is its source's host build.
//
// No PTX is run here. A library that brings kernels of its own as PTX has them compiled for the host too,
// and lays each beside the software driver, under the name of its entry.
//
// Thread safety: stateless.
#pragma once

#include <optional>
#include <string>

namespace tessera::softcuda {

// The first entry of the text; nothing where the image is no PTX. REQUIRES: text ends with a zero, as for
// cuModuleLoadData.
std::optional<std::string> entry_of_ptx(const void* image);
// Where its host build would be.
std::string host_build_of(const std::string& entry);

}  // namespace tessera::softcuda
