// Replaces the toolkit's headers with contents that a source has anyway: the originals need NVIDIA's compiler, and
// would declare everything a second time.
//
// Thread safety: types.
#pragma once

// Types in host-side declarations.
typedef struct CUstream_st* cudaStream_t;
#if __has_include(<library_types.h>)
#include <library_types.h>
#endif
