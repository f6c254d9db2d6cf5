// The kernel behind Driver::fingerprint() on a GPU: reads ranges at the speed of its memory, and writes 16 bytes to
// host memory for each 64 KiB of them.
//
// One block of threads per part. The sum of each part is written separately, so that no block waits for another and
// nothing is shared, cleared or kept on the device.
// `python3 cmake/compile_fingerprint.py NVCC alloc/driver/fingerprint.ptx` recomputes fingerprint.ptx.
//
// Thread safety: any number of concurrent launches, each with results of its own.
#include "fingerprint_lane.h"

#define FINGERPRINT_RANGES 64  /* as kMostFingerprints */
#define FINGERPRINT_LANES 4096 /* 64 KiB, as kFingerprintPart */
#define FINGERPRINT_THREADS 256
#define FINGERPRINT_GROUP 16

struct fingerprint_ranges {
  unsigned long long address[FINGERPRINT_RANGES];
  unsigned int parts[FINGERPRINT_RANGES];
  unsigned int first[FINGERPRINT_RANGES];  // index of its first result
};

struct alignas(16) fingerprint_words {
  unsigned long long low, high;
};

// Grid: (parts of the longest range, ranges).
extern "C" __global__ void tessera_fingerprint(fingerprint_ranges ranges, tessera_print* to) {
  __shared__ tessera_print sums[FINGERPRINT_THREADS];
  const unsigned int range = blockIdx.y;
  const unsigned int part = blockIdx.x;
  const unsigned int thread = threadIdx.x;
  if (part >= ranges.parts[range]) return;
  const unsigned long long first = (unsigned long long)part * FINGERPRINT_LANES;
  const fingerprint_words* const from = (const fingerprint_words*)ranges.address[range] + first;

  tessera_print sum = {0, 0};
#pragma unroll 8
  for (unsigned int lane = thread; lane < FINGERPRINT_LANES; lane += FINGERPRINT_THREADS) {
    const fingerprint_words words = from[lane];
    tessera_print_add(&sum, words.low, words.high, first + lane);
  }
  sums[thread] = sum;
  __syncthreads();
  if (thread < FINGERPRINT_GROUP) {
    for (unsigned int i = thread + FINGERPRINT_GROUP; i < FINGERPRINT_THREADS; i += FINGERPRINT_GROUP) {
      sum.low += sums[i].low;
      sum.high += sums[i].high;
    }
    sums[thread] = sum;
  }
  __syncthreads();
  if (thread != 0) return;
  for (unsigned int i = 1; i < FINGERPRINT_GROUP; ++i) {
    sum.low += sums[i].low;
    sum.high += sums[i].high;
  }
  to[ranges.first[range] + part] = sum;
}
