// Stands for the headers of the toolkit that say what a source finds anyway: their own text is for NVIDIA's
// compiler, and would say it a second time.
//
// Thread safety: types.
#pragma once

// What declarations for the host's side name.
typedef struct CUstream_st* cudaStream_t;
#if __has_include(<library_types.h>)
#include <library_types.h>
#endif
