/* The contribution of 16 bytes at one place of a range to its fingerprint: for the device and the host alike.
 *
 * For a given place this is a bijection: each step below can be inverted. So contents that differ in a single
 * such lane never have the same fingerprint. Others do with probability 2^-128, unless they were constructed
 * for it, and a program that does so can only harm its own bytes.
 *
 * Plain C that is also valid CUDA C: nothing may be included. Thread safety: values.
 */
#ifndef TESSERA_DRIVER_FINGERPRINT_LANE_H
#define TESSERA_DRIVER_FINGERPRINT_LANE_H

#if defined(__CUDACC__)
#define TESSERA_LANE_FUNCTION static __host__ __device__ __forceinline__
#else
#define TESSERA_LANE_FUNCTION static inline
#endif

/* The same layout on the device and in host memory, where the results are read. */
struct tessera_print {
  unsigned long long low, high;
};

/* `index` counts the lanes of the range; a lane's words are little-endian. */
TESSERA_LANE_FUNCTION void tessera_print_add(struct tessera_print* sum, unsigned long long low, unsigned long long high,
                                             unsigned long long index) {
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
