// CUDA's numeric functions, implemented by compiler builtins; the fast variants equal the exact ones.
//
// They are constexpr: a source may use their results as constants. For integers they compute in double, as in CUDA.
//
// Thread safety: pure functions.
#pragma once

namespace softcuda {

// The result type for these argument types; undefined for others.
template <class T>
struct Whole {};
template <class T>
struct Number {};
#define SOFTNVRTC_WHOLE(T)                 \
  template <>                              \
  struct Whole<T> { using Double = double; }; \
  template <>                              \
  struct Number<T> { using Double = double; };
SOFTNVRTC_WHOLE(bool) SOFTNVRTC_WHOLE(char) SOFTNVRTC_WHOLE(signed char) SOFTNVRTC_WHOLE(unsigned char)
SOFTNVRTC_WHOLE(short) SOFTNVRTC_WHOLE(unsigned short) SOFTNVRTC_WHOLE(int) SOFTNVRTC_WHOLE(unsigned)
SOFTNVRTC_WHOLE(long) SOFTNVRTC_WHOLE(unsigned long) SOFTNVRTC_WHOLE(long long)
SOFTNVRTC_WHOLE(unsigned long long)
#undef SOFTNVRTC_WHOLE
template <>
struct Number<float> { using Double = double; };
template <>
struct Number<double> { using Double = double; };

template <class A, class B, class = typename Number<A>::Double, class = typename Number<B>::Double>
struct Both {
  using Double = double;
  using Common = decltype(A() + B());
};

}  // namespace softcuda

#define SOFTNVRTC_ONE(name)                                                     \
  constexpr float name(float x) { return __builtin_##name##f(x); }              \
  constexpr double name(double x) { return __builtin_##name(x); }               \
  constexpr float name##f(float x) { return __builtin_##name##f(x); }           \
  template <class T>                                                            \
  constexpr typename softcuda::Whole<T>::Double name(T x) {                     \
    return __builtin_##name(static_cast<double>(x));                            \
  }
#define SOFTNVRTC_TWO(name)                                                     \
  constexpr float name(float x, float y) { return __builtin_##name##f(x, y); }  \
  constexpr double name(double x, double y) { return __builtin_##name(x, y); }  \
  constexpr float name##f(float x, float y) { return __builtin_##name##f(x, y); } \
  template <class A, class B>                                                   \
  constexpr typename softcuda::Both<A, B>::Double name(A x, B y) {              \
    return __builtin_##name(static_cast<double>(x), static_cast<double>(y));    \
  }
#define SOFTNVRTC_TO(result, name)                                              \
  constexpr result name(float x) { return __builtin_##name##f(x); }             \
  constexpr result name(double x) { return __builtin_##name(x); }               \
  constexpr result name##f(float x) { return __builtin_##name##f(x); }

SOFTNVRTC_ONE(sin) SOFTNVRTC_ONE(cos) SOFTNVRTC_ONE(tan) SOFTNVRTC_ONE(asin) SOFTNVRTC_ONE(acos)
SOFTNVRTC_ONE(atan) SOFTNVRTC_ONE(sinh) SOFTNVRTC_ONE(cosh) SOFTNVRTC_ONE(tanh) SOFTNVRTC_ONE(asinh)
SOFTNVRTC_ONE(acosh) SOFTNVRTC_ONE(atanh) SOFTNVRTC_ONE(exp) SOFTNVRTC_ONE(exp2) SOFTNVRTC_ONE(exp10)
SOFTNVRTC_ONE(expm1) SOFTNVRTC_ONE(log) SOFTNVRTC_ONE(log2) SOFTNVRTC_ONE(log10) SOFTNVRTC_ONE(log1p)
SOFTNVRTC_ONE(logb) SOFTNVRTC_ONE(sqrt) SOFTNVRTC_ONE(cbrt) SOFTNVRTC_ONE(erf) SOFTNVRTC_ONE(erfc)
SOFTNVRTC_ONE(tgamma) SOFTNVRTC_ONE(lgamma) SOFTNVRTC_ONE(j0) SOFTNVRTC_ONE(j1) SOFTNVRTC_ONE(y0)
SOFTNVRTC_ONE(y1) SOFTNVRTC_ONE(fabs) SOFTNVRTC_ONE(floor) SOFTNVRTC_ONE(ceil) SOFTNVRTC_ONE(trunc)
SOFTNVRTC_ONE(round) SOFTNVRTC_ONE(rint) SOFTNVRTC_ONE(nearbyint)
SOFTNVRTC_TWO(pow) SOFTNVRTC_TWO(atan2) SOFTNVRTC_TWO(fmod) SOFTNVRTC_TWO(remainder)
SOFTNVRTC_TWO(fmax) SOFTNVRTC_TWO(fmin) SOFTNVRTC_TWO(fdim) SOFTNVRTC_TWO(copysign)
SOFTNVRTC_TWO(nextafter) SOFTNVRTC_TWO(hypot)
SOFTNVRTC_TO(int, ilogb) SOFTNVRTC_TO(long, lrint) SOFTNVRTC_TO(long, lround)
SOFTNVRTC_TO(long long, llrint) SOFTNVRTC_TO(long long, llround)
#undef SOFTNVRTC_ONE
#undef SOFTNVRTC_TWO
#undef SOFTNVRTC_TO

constexpr float pow(float x, int y) { return __builtin_powf(x, static_cast<float>(y)); }
constexpr float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
constexpr double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
constexpr float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
constexpr float rsqrt(float x) { return 1 / __builtin_sqrtf(x); }
constexpr double rsqrt(double x) { return 1 / __builtin_sqrt(x); }
constexpr float rsqrtf(float x) { return 1 / __builtin_sqrtf(x); }
constexpr float rcbrt(float x) { return 1 / __builtin_cbrtf(x); }
constexpr double rcbrt(double x) { return 1 / __builtin_cbrt(x); }
constexpr float rcbrtf(float x) { return 1 / __builtin_cbrtf(x); }

// Functions with two results, or with arguments of two types.
#define SOFTNVRTC_PARTS(T, f, named)                                                            \
  inline void sincos##named(T x, T* sine, T* cosine) { __builtin_sincos##f(x, sine, cosine); }  \
  inline T frexp##named(T x, int* exponent) { return __builtin_frexp##f(x, exponent); }         \
  inline T modf##named(T x, T* whole) { return __builtin_modf##f(x, whole); }                   \
  inline T remquo##named(T x, T y, int* quotient) { return __builtin_remquo##f(x, y, quotient); } \
  constexpr T ldexp##named(T x, int exponent) { return __builtin_ldexp##f(x, exponent); }       \
  constexpr T scalbn##named(T x, int exponent) { return __builtin_scalbn##f(x, exponent); }
SOFTNVRTC_PARTS(float, f, ) SOFTNVRTC_PARTS(float, f, f) SOFTNVRTC_PARTS(double, , )
#undef SOFTNVRTC_PARTS

// Arguments in half turns: whole turns are removed first, which is exact.
#define SOFTNVRTC_TURNS(T, f, named)                                                       \
  inline void sincospi##named(T x, T* sine, T* cosine) {                                   \
    const double turn = static_cast<double>(__builtin_remainder##f(x, 2)) * 3.14159265358979323846; \
    *sine = static_cast<T>(__builtin_sin(turn));                                           \
    *cosine = static_cast<T>(__builtin_cos(turn));                                         \
  }                                                                                        \
  inline T sinpi##named(T x) { T sine, cosine; sincospi##named(x, &sine, &cosine); return sine; } \
  inline T cospi##named(T x) { T sine, cosine; sincospi##named(x, &sine, &cosine); return cosine; }
SOFTNVRTC_TURNS(float, f, ) SOFTNVRTC_TURNS(float, f, f) SOFTNVRTC_TURNS(double, , )
#undef SOFTNVRTC_TURNS

#define SOFTNVRTC_IS(T)                                                      \
  constexpr bool isnan(T x) { return __builtin_isnan(x); }                   \
  constexpr bool isinf(T x) { return __builtin_isinf_sign(x) != 0; }         \
  constexpr bool isfinite(T x) { return __builtin_isfinite(x); }             \
  constexpr bool signbit(T x) { return __builtin_signbit(x) != 0; }
SOFTNVRTC_IS(float) SOFTNVRTC_IS(double)
#undef SOFTNVRTC_IS

constexpr float __expf(float x) { return __builtin_expf(x); }
constexpr float __exp10f(float x) { return __builtin_exp10f(x); }
constexpr float __logf(float x) { return __builtin_logf(x); }
constexpr float __log2f(float x) { return __builtin_log2f(x); }
constexpr float __log10f(float x) { return __builtin_log10f(x); }
constexpr float __sinf(float x) { return __builtin_sinf(x); }
constexpr float __cosf(float x) { return __builtin_cosf(x); }
constexpr float __tanf(float x) { return __builtin_tanf(x); }
inline void __sincosf(float x, float* sine, float* cosine) { __builtin_sincosf(x, sine, cosine); }
constexpr float __powf(float x, float y) { return __builtin_powf(x, y); }
constexpr float __fdividef(float x, float y) { return x / y; }
constexpr float fdividef(float x, float y) { return x / y; }
constexpr float __frcp_rn(float x) { return 1 / x; }
constexpr float __fsqrt_rn(float x) { return __builtin_sqrtf(x); }
constexpr float __fmaf_rn(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
constexpr float __fadd_rn(float x, float y) { return x + y; }
constexpr float __fsub_rn(float x, float y) { return x - y; }
constexpr float __fmul_rn(float x, float y) { return x * y; }
constexpr float __fdiv_rn(float x, float y) { return x / y; }
constexpr double __drcp_rn(double x) { return 1 / x; }
constexpr double __dsqrt_rn(double x) { return __builtin_sqrt(x); }
constexpr double __fma_rn(double x, double y, double z) { return __builtin_fma(x, y, z); }
constexpr double __dadd_rn(double x, double y) { return x + y; }
constexpr double __dsub_rn(double x, double y) { return x - y; }
constexpr double __dmul_rn(double x, double y) { return x * y; }
constexpr double __ddiv_rn(double x, double y) { return x / y; }
constexpr float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }

namespace softcuda {
template <class T>
constexpr T magnitude(T x) { return x < 0 ? -x : x; }
constexpr float magnitude(float x) { return __builtin_fabsf(x); }
constexpr double magnitude(double x) { return __builtin_fabs(x); }
}  // namespace softcuda
// A template, so that it can coexist with the C library's.
template <class T>
constexpr T abs(T x) { return softcuda::magnitude(x); }
template <class T>
constexpr T min(T x, T y) { return y < x ? y : x; }
template <class T>
constexpr T max(T x, T y) { return x < y ? y : x; }
// If one argument is NaN, the other is returned.
constexpr float min(float x, float y) { return y < x || x != x ? y : x; }
constexpr float max(float x, float y) { return x < y || x != x ? y : x; }
constexpr double min(double x, double y) { return y < x || x != x ? y : x; }
constexpr double max(double x, double y) { return x < y || x != x ? y : x; }
template <class A, class B>
constexpr typename softcuda::Both<A, B>::Common min(A x, B y) {
  using Common = typename softcuda::Both<A, B>::Common;
  return min(static_cast<Common>(x), static_cast<Common>(y));
}
template <class A, class B>
constexpr typename softcuda::Both<A, B>::Common max(A x, B y) {
  using Common = typename softcuda::Both<A, B>::Common;
  return max(static_cast<Common>(x), static_cast<Common>(y));
}
