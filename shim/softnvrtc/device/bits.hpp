// CUDA's functions on bits and integers, and its conversions between number types.
//
// Thread safety: pure functions.
#pragma once

namespace softcuda {
template <class To, class From>
inline To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &from, sizeof(to));
  return to;
}
}  // namespace softcuda

inline int __float_as_int(float x) { return softcuda::same_bits<int>(x); }
inline unsigned __float_as_uint(float x) { return softcuda::same_bits<unsigned>(x); }
inline float __int_as_float(int x) { return softcuda::same_bits<float>(x); }
inline float __uint_as_float(unsigned x) { return softcuda::same_bits<float>(x); }
inline long long __double_as_longlong(double x) { return softcuda::same_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return softcuda::same_bits<double>(x); }
inline int __double2hiint(double x) { return static_cast<int>(__double_as_longlong(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(__double_as_longlong(x)); }
inline double __hiloint2double(int high, int low) {
  return __longlong_as_double(static_cast<long long>(high) << 32 | static_cast<unsigned>(low));
}

// _rn: to nearest, ties to even; _rz: towards zero; _ru: up; _rd: down. Out-of-range values saturate, and NaN becomes
// 0.
namespace softcuda {
template <class To>
constexpr To to_whole(double x) {
  constexpr bool is_signed = static_cast<To>(-1) < 0;
  constexpr int bits = static_cast<int>(sizeof(To)) * 8 - (is_signed ? 1 : 0);
  constexpr double end = 2.0 * static_cast<double>(1ULL << (bits - 1));
  constexpr To greatest = static_cast<To>(~0ULL >> (64 - bits));
  if (x != x) return 0;
  if (x >= end) return greatest;
  if (x < (is_signed ? -end : 0)) return is_signed ? static_cast<To>(-greatest - 1) : 0;
  return static_cast<To>(x);
}
}  // namespace softcuda
#define SOFTNVRTC_TO_WHOLE(From, To, name)                                                           \
  constexpr To __##name##_rz(From x) { return softcuda::to_whole<To>(__builtin_trunc(x)); }         \
  constexpr To __##name##_rn(From x) { return softcuda::to_whole<To>(__builtin_nearbyint(x)); }     \
  constexpr To __##name##_ru(From x) { return softcuda::to_whole<To>(__builtin_ceil(x)); }          \
  constexpr To __##name##_rd(From x) { return softcuda::to_whole<To>(__builtin_floor(x)); }
SOFTNVRTC_TO_WHOLE(float, int, float2int)
SOFTNVRTC_TO_WHOLE(float, unsigned, float2uint)
SOFTNVRTC_TO_WHOLE(float, long long, float2ll)
SOFTNVRTC_TO_WHOLE(float, unsigned long long, float2ull)
SOFTNVRTC_TO_WHOLE(double, int, double2int)
SOFTNVRTC_TO_WHOLE(double, unsigned, double2uint)
SOFTNVRTC_TO_WHOLE(double, long long, double2ll)
SOFTNVRTC_TO_WHOLE(double, unsigned long long, double2ull)
#undef SOFTNVRTC_TO_WHOLE
constexpr float __int2float_rn(int x) { return static_cast<float>(x); }
constexpr float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
constexpr float __ll2float_rn(long long x) { return static_cast<float>(x); }
constexpr float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
constexpr float __double2float_rn(double x) { return static_cast<float>(x); }
constexpr double __int2double_rn(int x) { return x; }
constexpr double __uint2double_rn(unsigned x) { return x; }
constexpr double __ll2double_rn(long long x) { return static_cast<double>(x); }
constexpr double __ull2double_rn(unsigned long long x) { return static_cast<double>(x); }

constexpr int __popc(unsigned x) { return __builtin_popcount(x); }
constexpr int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
constexpr int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
constexpr int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
constexpr int __ffs(int x) { return __builtin_ffs(x); }
constexpr int __ffsll(long long x) { return __builtin_ffsll(x); }
constexpr unsigned long long __brevll(unsigned long long x) {
  unsigned long long turned = 0;
  for (int bit = 0; bit < 64; ++bit) turned |= (x >> bit & 1) << (63 - bit);
  return turned;
}
constexpr unsigned __brev(unsigned x) { return static_cast<unsigned>(__brevll(x) >> 32); }
constexpr int __mul24(int x, int y) { return x * y; }
constexpr unsigned __umul24(unsigned x, unsigned y) { return x * y; }
constexpr int __mulhi(int x, int y) { return static_cast<int>(static_cast<long long>(x) * y >> 32); }
constexpr unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>((static_cast<unsigned long long>(x) * y) >> 32);
}
constexpr unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(x) * y >> 64);
}
constexpr long long __mul64hi(long long x, long long y) {
  return static_cast<long long>(static_cast<__int128>(x) * y >> 64);
}
