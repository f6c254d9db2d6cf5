/* What 16 bytes at one place of a range add to its fingerprint: for the device and the host alike.
 *
 * For a given place this is one-to-one: each step below can be undone. So two contents that differ in
 * one such lane only never have one fingerprint. Others do with odds of 2^-128, as far as contents go
 * that nobody made for it; who did could harm his own bytes alone.
 *
 * Plain C that CUDA C is, too: nothing may be included. Thread safety: values.
 */
#ifndef TESSERA_DRIVER_FINGERPRINT_LANE_H
#define TESSERA_DRIVER_FINGERPRINT_LANE_H

#if defined(__CUDACC__)
#define TESSERA_LANE_FUNCTION static __host__ __device__ __forceinline__
#else
#define TESSERA_LANE_FUNCTION static inline
#endif

/* Alike on the device and in host memory, where the results are read. */
struct tessera_print {
  unsigned long long low, high;
};

/* `index` counts the lanes of the range; a lane's words are little-endian. */
TESSERA_LANE_FUNCTION void tessera_print_add(struct tessera_print* sum, unsigned long long low,
                                             unsigned long long high, unsigned long long index) {
  const unsigned long long place = index + 1;
  unsigned long long x = low + place * 0x9e3779b97f4a7c15ULL;
  unsigned long long y = high ^ (place * 0xd1342543de82ef95ULL);
  x ^= x >> 32;
  x *= 0xbf58476d1ce4e5b9ULL;
  y += (x << 29) | (x >> 35);
  y ^= y >> 32;
  y *= 0x94d049bb133111ebULL;
  x += (y << 31) | (y >> 33);
  x ^= x >> 29;
  x *= 0xff51afd7ed558ccdULL;
  y += (x << 27) | (x >> 37);
  y ^= y >> 32;
  y *= 0xc4ceb9fe1a85ec53ULL;
  x ^= y >> 32;
  sum->low += x;
  sum->high += y;
}

#endif
