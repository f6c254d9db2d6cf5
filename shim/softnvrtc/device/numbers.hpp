// CUDA's functions on numbers, by the compiler's builtins; the fast forms are the exact ones.
//
// Thread safety: pure functions; atomic operations as softnvrtc.hpp says.
#pragma once

#define SOFTNVRTC_ONE(name)                                                \
  inline float name(float x) { return __builtin_##name##f(x); }            \
  inline double name(double x) { return __builtin_##name(x); }             \
  inline float name##f(float x) { return __builtin_##name##f(x); }
#define SOFTNVRTC_TWO(name)                                                \
  inline float name(float x, float y) { return __builtin_##name##f(x, y); } \
  inline double name(double x, double y) { return __builtin_##name(x, y); } \
  inline float name##f(float x, float y) { return __builtin_##name##f(x, y); }

SOFTNVRTC_ONE(sin) SOFTNVRTC_ONE(cos) SOFTNVRTC_ONE(tan) SOFTNVRTC_ONE(asin) SOFTNVRTC_ONE(acos)
SOFTNVRTC_ONE(atan) SOFTNVRTC_ONE(sinh) SOFTNVRTC_ONE(cosh) SOFTNVRTC_ONE(tanh)
SOFTNVRTC_ONE(exp) SOFTNVRTC_ONE(exp2) SOFTNVRTC_ONE(expm1) SOFTNVRTC_ONE(log) SOFTNVRTC_ONE(log2)
SOFTNVRTC_ONE(log10) SOFTNVRTC_ONE(log1p) SOFTNVRTC_ONE(sqrt) SOFTNVRTC_ONE(cbrt) SOFTNVRTC_ONE(erf)
SOFTNVRTC_ONE(erfc) SOFTNVRTC_ONE(fabs) SOFTNVRTC_ONE(floor) SOFTNVRTC_ONE(ceil)
SOFTNVRTC_ONE(trunc) SOFTNVRTC_ONE(round) SOFTNVRTC_ONE(rint)
SOFTNVRTC_TWO(pow) SOFTNVRTC_TWO(atan2) SOFTNVRTC_TWO(fmod) SOFTNVRTC_TWO(fmax) SOFTNVRTC_TWO(fmin)
SOFTNVRTC_TWO(copysign) SOFTNVRTC_TWO(hypot)
#undef SOFTNVRTC_ONE
#undef SOFTNVRTC_TWO

inline float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
inline float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline float rsqrt(float x) { return 1 / __builtin_sqrtf(x); }
inline double rsqrt(double x) { return 1 / __builtin_sqrt(x); }
inline float rsqrtf(float x) { return 1 / __builtin_sqrtf(x); }
inline float __expf(float x) { return __builtin_expf(x); }
inline float __exp10f(float x) { return __builtin_powf(10, x); }
inline float __logf(float x) { return __builtin_logf(x); }
inline float __log2f(float x) { return __builtin_log2f(x); }
inline float __log10f(float x) { return __builtin_log10f(x); }
inline float __sinf(float x) { return __builtin_sinf(x); }
inline float __cosf(float x) { return __builtin_cosf(x); }
inline float __tanf(float x) { return __builtin_tanf(x); }
inline float __powf(float x, float y) { return __builtin_powf(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __frcp_rn(float x) { return 1 / x; }
inline float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
inline float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }
inline bool isnan(double x) { return __builtin_isnan(x); }
inline bool isinf(double x) { return __builtin_isinf_sign(x) != 0; }
inline bool isfinite(double x) { return __builtin_isfinite(x); }

template <class T>
inline T abs(T x) { return x < 0 ? -x : x; }
template <class T>
inline T min(T x, T y) { return y < x ? y : x; }
template <class T>
inline T max(T x, T y) { return x < y ? y : x; }

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

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __mul24(int x, int y) { return x * y; }
inline unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>((static_cast<unsigned long long>(x) * y) >> 32);
}

inline void __threadfence() {}
inline void __threadfence_block() {}
template <class T>
inline T __ldg(const T* at) { return *at; }

namespace softcuda {
template <class T, class Make>
inline T replace(T* at, Make make) {
  const T old = *at;
  *at = make(old);
  return old;
}
}  // namespace softcuda

template <class T>
inline T atomicAdd(T* at, T x) { return softcuda::replace(at, [=](T old) { return old + x; }); }
template <class T>
inline T atomicSub(T* at, T x) { return softcuda::replace(at, [=](T old) { return old - x; }); }
template <class T>
inline T atomicExch(T* at, T x) { return softcuda::replace(at, [=](T) { return x; }); }
template <class T>
inline T atomicMin(T* at, T x) { return softcuda::replace(at, [=](T old) { return min(old, x); }); }
template <class T>
inline T atomicMax(T* at, T x) { return softcuda::replace(at, [=](T old) { return max(old, x); }); }
template <class T>
inline T atomicAnd(T* at, T x) { return softcuda::replace(at, [=](T old) { return old & x; }); }
template <class T>
inline T atomicOr(T* at, T x) { return softcuda::replace(at, [=](T old) { return old | x; }); }
template <class T>
inline T atomicCAS(T* at, T expected, T x) {
  return softcuda::replace(at, [=](T old) { return old == expected ? x : old; });
}
