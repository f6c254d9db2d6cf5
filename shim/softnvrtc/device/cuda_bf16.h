// bfloat16 under CUDA's names: the upper half of a float.
//
// Why not CUDA's own header: it needs NVIDIA's compiler. Each operation computes in float and rounds once, to nearest,
// ties to even, which equals rounding the exact result.
//
// Thread safety: pure functions.
#pragma once

struct __attribute__((aligned(2))) __nv_bfloat16 {
  unsigned short bits;

  __nv_bfloat16() = default;
  template <class T>
  __nv_bfloat16(T x) : bits(rounded(static_cast<float>(x))) {}
  operator float() const { return __uint_as_float(static_cast<unsigned>(bits) << 16); }

  static unsigned short rounded(float x) {
    const unsigned all = __float_as_uint(x);
    if (__builtin_isnan(x)) return 0x7fff;
    return static_cast<unsigned short>((all + 0x7fff + (all >> 16 & 1)) >> 16);
  }
};
typedef __nv_bfloat16 nv_bfloat16;

namespace softcuda {
template <class T>
struct OnlyBfloat16;
template <>
struct OnlyBfloat16<__nv_bfloat16> {
  using Type = __nv_bfloat16;
};
}  // namespace softcuda

// Only for two operands of this type: with one of another type, float arithmetic is used.
#define SOFTNVRTC_BFLOAT16(sign)                                                              \
  template <class T>                                                                          \
  inline typename softcuda::OnlyBfloat16<T>::Type operator sign(T x, T y) {                   \
    return static_cast<float>(x) sign static_cast<float>(y);                                  \
  }                                                                                           \
  template <class T>                                                                          \
  inline __nv_bfloat16& operator sign##=(__nv_bfloat16& x, T y) {                             \
    return x = static_cast<float>(x) sign static_cast<float>(y);                              \
  }
SOFTNVRTC_BFLOAT16(+) SOFTNVRTC_BFLOAT16(-) SOFTNVRTC_BFLOAT16(*) SOFTNVRTC_BFLOAT16(/)
#undef SOFTNVRTC_BFLOAT16
inline __nv_bfloat16 operator-(__nv_bfloat16 x) { return -static_cast<float>(x); }

inline __nv_bfloat16 __float2bfloat16(float x) { return x; }
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return x; }
inline __nv_bfloat16 __double2bfloat16(double x) { return x; }
inline float __bfloat162float(__nv_bfloat16 x) { return x; }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.bits; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  __nv_bfloat16 x;
  x.bits = bits;
  return x;
}
inline __nv_bfloat16 __hadd(__nv_bfloat16 x, __nv_bfloat16 y) { return x + y; }
inline __nv_bfloat16 __hsub(__nv_bfloat16 x, __nv_bfloat16 y) { return x - y; }
inline __nv_bfloat16 __hmul(__nv_bfloat16 x, __nv_bfloat16 y) { return x * y; }
inline __nv_bfloat16 __hdiv(__nv_bfloat16 x, __nv_bfloat16 y) { return x / y; }
inline __nv_bfloat16 __hneg(__nv_bfloat16 x) { return -x; }
inline __nv_bfloat16 __hmax(__nv_bfloat16 x, __nv_bfloat16 y) { return x < y ? y : x; }
inline __nv_bfloat16 __hmin(__nv_bfloat16 x, __nv_bfloat16 y) { return y < x ? y : x; }
inline bool __hisnan(__nv_bfloat16 x) { return isnan(static_cast<float>(x)); }
// Exact products of bfloat16 fit in a float: only the sum is rounded before the final rounding.
inline __nv_bfloat16 __hfma(__nv_bfloat16 x, __nv_bfloat16 y, __nv_bfloat16 z) {
  return static_cast<float>(x) * static_cast<float>(y) + static_cast<float>(z);
}

#define SOFTNVRTC_BFLOAT16(name) \
  inline __nv_bfloat16 h##name(__nv_bfloat16 x) { return name(static_cast<float>(x)); }
SOFTNVRTC_BFLOAT16(sqrt) SOFTNVRTC_BFLOAT16(rsqrt) SOFTNVRTC_BFLOAT16(sin) SOFTNVRTC_BFLOAT16(cos)
SOFTNVRTC_BFLOAT16(exp) SOFTNVRTC_BFLOAT16(exp2) SOFTNVRTC_BFLOAT16(log) SOFTNVRTC_BFLOAT16(log2)
SOFTNVRTC_BFLOAT16(log10) SOFTNVRTC_BFLOAT16(floor) SOFTNVRTC_BFLOAT16(ceil)
SOFTNVRTC_BFLOAT16(trunc) SOFTNVRTC_BFLOAT16(rint)
#undef SOFTNVRTC_BFLOAT16
inline __nv_bfloat16 hrcp(__nv_bfloat16 x) { return 1 / static_cast<float>(x); }

struct __attribute__((aligned(4))) __nv_bfloat162 {
  __nv_bfloat16 x, y;
};
typedef __nv_bfloat162 nv_bfloat162;
inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {x, y}; }
inline float __low2float(__nv_bfloat162 both) { return both.x; }
inline float __high2float(__nv_bfloat162 both) { return both.y; }
