// What the software device runs in place of the PTX of alloc/driver/fingerprint.cu: the same source.
//
// Thread safety: as there.
#define SOFTCUDA_BARRIERS
#include "softcuda_kernel.hpp"

#include "driver/fingerprint.cu"
TESSERA_KERNEL(tessera_fingerprint)
