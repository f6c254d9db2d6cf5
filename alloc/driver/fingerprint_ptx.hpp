// The text of fingerprint.ptx, which the build puts into the library (cmake/fingerprint_ptx.cpp.in).
//
// Thread safety: constant.
#pragma once

namespace tessera {

// Ends with a zero, as cuModuleLoadData wants it.
const char* fingerprint_ptx();

}  // namespace tessera
