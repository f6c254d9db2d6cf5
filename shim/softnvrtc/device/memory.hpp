// CUDA C's loads, stores and atomic operations on memory. Cache hints have no effect.
//
// Thread safety: as in softnvrtc.hpp: an atomic operation is a plain one.
#pragma once

inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
template <class T>
inline T __ldg(const T* at) { return *at; }
template <class T>
inline T __ldca(const T* at) { return *at; }
template <class T>
inline T __ldcg(const T* at) { return *at; }
template <class T>
inline T __ldcs(const T* at) { return *at; }
template <class T>
inline T __ldlu(const T* at) { return *at; }
template <class T>
inline T __ldcv(const T* at) { return *static_cast<const volatile T*>(at); }

namespace softcuda {
template <class T>
struct Given {  // deduces T from the target, not from the value
  using Type = T;
};
template <class T, class Make>
inline T replace(T* at, Make make) {
  const T old = *at;
  *at = make(old);
  return old;
}
}  // namespace softcuda

template <class T>
inline void __stwb(T* at, typename softcuda::Given<T>::Type x) { *at = x; }
template <class T>
inline void __stcg(T* at, typename softcuda::Given<T>::Type x) { *at = x; }
template <class T>
inline void __stcs(T* at, typename softcuda::Given<T>::Type x) { *at = x; }
template <class T>
inline void __stwt(T* at, typename softcuda::Given<T>::Type x) { *at = x; }

#define SOFTNVRTC_ATOMIC(name, result)                                                    \
  template <class T>                                                                      \
  inline T name(T* at, typename softcuda::Given<T>::Type x) {                             \
    return softcuda::replace(at, [=](T old) -> T { return result; });                     \
  }                                                                                       \
  template <class T>                                                                      \
  inline T name##_block(T* at, typename softcuda::Given<T>::Type x) { return name(at, x); } \
  template <class T>                                                                      \
  inline T name##_system(T* at, typename softcuda::Given<T>::Type x) { return name(at, x); }
SOFTNVRTC_ATOMIC(atomicAdd, old + x) SOFTNVRTC_ATOMIC(atomicSub, old - x) SOFTNVRTC_ATOMIC(atomicExch, x)
SOFTNVRTC_ATOMIC(atomicMin, min(old, x)) SOFTNVRTC_ATOMIC(atomicMax, max(old, x))
SOFTNVRTC_ATOMIC(atomicAnd, old & x) SOFTNVRTC_ATOMIC(atomicOr, old | x) SOFTNVRTC_ATOMIC(atomicXor, old ^ x)
SOFTNVRTC_ATOMIC(atomicInc, old >= x ? 0 : old + 1)
SOFTNVRTC_ATOMIC(atomicDec, old == 0 || old > x ? x : old - 1)
#undef SOFTNVRTC_ATOMIC
template <class T>
inline T atomicCAS(T* at, typename softcuda::Given<T>::Type expected,
                   typename softcuda::Given<T>::Type x) {
  return softcuda::replace(at, [=](T old) { return old == expected ? x : old; });
}
