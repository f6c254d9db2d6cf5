// The text of fingerprint.ptx, which the build embeds in the library (cmake/fingerprint_ptx.cpp.in).
//
// Thread safety: constant.
#pragma once

namespace tessera {

// Zero-terminated, as cuModuleLoadData requires.
const char* fingerprint_ptx();

}  // namespace tessera
