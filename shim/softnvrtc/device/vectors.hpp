// CUDA's built-in vector types, with their alignment, and their make_ functions.
//
// Thread safety: values.
#pragma once

#define SOFTNVRTC_VECTORS(name, T)                                                            \
  struct name##1 { T x; };                                                                    \
  struct __attribute__((aligned(2 * sizeof(T)))) name##2 { T x, y; };                         \
  struct name##3 { T x, y, z; };                                                              \
  struct __attribute__((aligned(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16))) name##4 {          \
    T x, y, z, w;                                                                             \
  };                                                                                          \
  inline name##1 make_##name##1(T x) { return {x}; }                                          \
  inline name##2 make_##name##2(T x, T y) { return {x, y}; }                                  \
  inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                          \
  inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }

SOFTNVRTC_VECTORS(char, signed char)
SOFTNVRTC_VECTORS(uchar, unsigned char)
SOFTNVRTC_VECTORS(short, short)
SOFTNVRTC_VECTORS(ushort, unsigned short)
SOFTNVRTC_VECTORS(int, int)
SOFTNVRTC_VECTORS(uint, unsigned)
SOFTNVRTC_VECTORS(long, long)
SOFTNVRTC_VECTORS(ulong, unsigned long)
SOFTNVRTC_VECTORS(longlong, long long)
SOFTNVRTC_VECTORS(ulonglong, unsigned long long)
SOFTNVRTC_VECTORS(float, float)
SOFTNVRTC_VECTORS(double, double)
#undef SOFTNVRTC_VECTORS
