// Kernels of the probes that every device can run.
//
// Thread safety: each element is written by one thread.
#include "softcuda_kernel.hpp"

#if !defined(__CUDACC__)
#include <ctime>
#endif

typedef unsigned int Word;
typedef unsigned long long Long;

static __device__ Long first_of_thread() { return (Long)blockIdx.x * blockDim.x + threadIdx.x; }
static __device__ Long all_threads() { return (Long)gridDim.x * blockDim.x; }

extern "C" __global__ void fill_words(Word* data, Long count, Word seed) {
  for (Long i = first_of_thread(); i < count; i += all_threads()) {
    data[i] = ((Word)i ^ seed) * 2654435761U;
  }
}
TESSERA_KERNEL(fill_words)

// The sum depends on each word's position, so swapped words are found.
extern "C" __global__ void sum_words(const Word* data, Long count, Long* sums) {
  Long sum = 0;
  for (Long i = first_of_thread(); i < count; i += all_threads()) sum += data[i] * (i % 1021 + 1);
  sums[first_of_thread()] = sum;
}
TESSERA_KERNEL(sum_words)

// Each thread adds to its own counter the number of words that differ from what fill_words wrote.
extern "C" __global__ void check_words(const Word* data, Long count, Word seed, Long* wrong) {
  Long found = 0;
  for (Long i = first_of_thread(); i < count; i += all_threads()) {
    found += data[i] != ((Word)i ^ seed) * 2654435761U;
  }
  wrong[first_of_thread()] += found;
}
TESSERA_KERNEL(check_words)

extern "C" __global__ void add_to_words(Word* data, Long count, Word value) {
  for (Long i = first_of_thread(); i < count; i += all_threads()) data[i] += value;
}
TESSERA_KERNEL(add_to_words)

// Works on its words for the given number of rounds, so that it can run concurrently with something else.
extern "C" __global__ void churn_words(Word* data, Long count, Word rounds) {
  for (Long i = first_of_thread(); i < count; i += all_threads()) {
    Word value = data[i];
    for (Word round = 0; round < rounds; ++round) value = value * 1664525U + 1013904223U;
    data[i] = value;
  }
}
TESSERA_KERNEL(churn_words)

struct __attribute__((aligned(16))) Wide {
  Word part[4];
};

extern "C" __global__ void read_wide(const struct Wide* data, Long count, Word* sink) {
  Word sum = 0;
  for (Long i = first_of_thread(); i < count; i += all_threads()) {
    const struct Wide wide = data[i];
    sum += wide.part[0] ^ wide.part[1] ^ wide.part[2] ^ wide.part[3];
  }
  if (sum == 0x9e3779b9U) *sink = sum;
}
TESSERA_KERNEL(read_wide)

extern "C" __global__ void write_wide(struct Wide* data, Long count, Word value) {
  const struct Wide wide = {{value, value, value, value}};
  for (Long i = first_of_thread(); i < count; i += all_threads()) data[i] = wide;
}
TESSERA_KERNEL(write_wide)

extern "C" __global__ void copy_wide(struct Wide* to, const struct Wide* from, Long count) {
  for (Long i = first_of_thread(); i < count; i += all_threads()) to[i] = from[i];
}
TESSERA_KERNEL(copy_wide)

extern "C" __global__ void nothing() {}
TESSERA_KERNEL(nothing)

#if defined(__CUDACC__)
static __device__ Long nanoseconds() {
  Long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
#else
static Long nanoseconds() {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (Long)now.tv_sec * 1000000000ULL + (Long)now.tv_nsec;
}
#endif

// Ends by itself, so that waiting for it always terminates.
extern "C" __global__ void wait_for(Long time) {
  const Long start = nanoseconds();
  while (nanoseconds() - start < time) {
  }
}
TESSERA_KERNEL(wait_for)
