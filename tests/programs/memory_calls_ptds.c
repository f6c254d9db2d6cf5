/* memory_calls.c as compiled with per-thread default streams: it uses other entry points. */
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include "memory_calls.c"
