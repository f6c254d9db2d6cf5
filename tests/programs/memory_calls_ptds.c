/* memory_calls.c as a compiler with per-thread default streams makes it: other entry points. */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include "memory_calls.c"
