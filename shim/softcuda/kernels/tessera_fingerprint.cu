// The software device's version of the PTX of alloc/driver/fingerprint.cu, from the same source.
//
// Thread safety: as in that file.
#define SOFTCUDA_BARRIERS
#include "softcuda_kernel.hpp"

#include "driver/fingerprint.cu"
TESSERA_KERNEL(tessera_fingerprint)
