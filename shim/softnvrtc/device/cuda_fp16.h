// Half precision under CUDA's names, with the host compiler's _Float16 as the type.
//
// Why not CUDA's own header: it needs NVIDIA's compiler.
//
// Thread safety: pure functions.
#pragma once

typedef _Float16 half;
typedef _Float16 __half;
struct __attribute__((aligned(4))) half2 {
  half x, y;
};
typedef half2 __half2;

inline half2 make_half2(half x, half y) { return {x, y}; }
inline half __float2half(float x) { return static_cast<half>(x); }
inline half __float2half_rn(float x) { return static_cast<half>(x); }
inline float __half2float(half x) { return static_cast<float>(x); }
inline half __hadd(half x, half y) { return x + y; }
inline half __hsub(half x, half y) { return x - y; }
inline half __hmul(half x, half y) { return x * y; }
inline half __hdiv(half x, half y) { return x / y; }
inline half __hmax(half x, half y) { return x < y ? y : x; }
inline half __hmin(half x, half y) { return y < x ? y : x; }
inline half __hfma(half x, half y, half z) {
  return static_cast<half>(static_cast<double>(x) * static_cast<double>(y) + static_cast<double>(z));
}

#define SOFTNVRTC_HALF(name) \
  inline half h##name(half x) { return static_cast<half>(name(static_cast<float>(x))); }
SOFTNVRTC_HALF(sqrt) SOFTNVRTC_HALF(rsqrt) SOFTNVRTC_HALF(sin) SOFTNVRTC_HALF(cos)
SOFTNVRTC_HALF(exp) SOFTNVRTC_HALF(exp2) SOFTNVRTC_HALF(log) SOFTNVRTC_HALF(log2)
SOFTNVRTC_HALF(log10) SOFTNVRTC_HALF(floor) SOFTNVRTC_HALF(ceil) SOFTNVRTC_HALF(trunc)
SOFTNVRTC_HALF(rint)
#undef SOFTNVRTC_HALF
inline half hrcp(half x) { return static_cast<half>(1 / static_cast<float>(x)); }
