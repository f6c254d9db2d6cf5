// The part of <cuda/atomic> and <cuda/std/atomic> that kernels use: cuda::atomic, cuda::atomic_ref and their orders.
//
// Thread safety: as in softnvrtc.hpp: an operation is a plain one. Loads and stores are volatile, as other kernels and
// the host may access the same memory.
#pragma once

namespace cuda {

enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };

namespace std {
enum memory_order {
  memory_order_relaxed,
  memory_order_consume,
  memory_order_acquire,
  memory_order_release,
  memory_order_acq_rel,
  memory_order_seq_cst
};
}  // namespace std
using std::memory_order;
using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_consume;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

// The operations, on a value that `Place` has the address of.
template <class T, class Place>
class atomic_operations {
 public:
  using value_type = T;
  static constexpr bool is_always_lock_free = true;

  bool is_lock_free() const { return true; }
  T load(memory_order = memory_order_seq_cst) const { return *at(); }
  void store(T value, memory_order = memory_order_seq_cst) const { *at() = value; }
  operator T() const { return load(); }
  T exchange(T value, memory_order = memory_order_seq_cst) const {
    return change([=](T) { return value; });
  }
  bool compare_exchange_strong(T& expected, T value, memory_order = memory_order_seq_cst,
                               memory_order = memory_order_seq_cst) const {
    const T old = *at();
    const bool equal = old == expected;
    if (equal) *at() = value;
    expected = old;
    return equal;
  }
  bool compare_exchange_weak(T& expected, T value, memory_order order = memory_order_seq_cst,
                             memory_order failure = memory_order_seq_cst) const {
    return compare_exchange_strong(expected, value, order, failure);
  }
#define SOFTNVRTC_FETCH(name, result)                                    \
  template <class U>                                                     \
  T name(U x, memory_order = memory_order_seq_cst) const {               \
    return change([=](T old) { return static_cast<T>(result); });        \
  }
  SOFTNVRTC_FETCH(fetch_add, old + x)
  SOFTNVRTC_FETCH(fetch_sub, old - x)
  SOFTNVRTC_FETCH(fetch_and, old & x)
  SOFTNVRTC_FETCH(fetch_or, old | x)
  SOFTNVRTC_FETCH(fetch_xor, old ^ x)
  SOFTNVRTC_FETCH(fetch_min, old < static_cast<T>(x) ? old : x)
  SOFTNVRTC_FETCH(fetch_max, old < static_cast<T>(x) ? x : old)
#undef SOFTNVRTC_FETCH
  T operator++() const { return fetch_add(1) + 1; }
  T operator++(int) const { return fetch_add(1); }
  T operator--() const { return fetch_sub(1) - 1; }
  T operator--(int) const { return fetch_sub(1); }
  T operator+=(T x) const { return fetch_add(x) + x; }
  T operator-=(T x) const { return fetch_sub(x) - x; }
  T operator&=(T x) const { return fetch_and(x) & x; }
  T operator|=(T x) const { return fetch_or(x) | x; }
  T operator^=(T x) const { return fetch_xor(x) ^ x; }
  void wait(T old, memory_order = memory_order_seq_cst) const {
    while (load() == old) {
    }
  }
  void notify_one() const {}
  void notify_all() const {}

 private:
  volatile T* at() const { return static_cast<const Place*>(this)->place(); }
  template <class Make>
  T change(Make make) const {
    const T old = *at();
    *at() = make(old);
    return old;
  }
};

template <class T, thread_scope Scope = thread_scope_system>
class atomic : public atomic_operations<T, atomic<T, Scope>> {
 public:
  atomic() = default;
  constexpr atomic(T value) : value_(value) {}
  atomic(const atomic&) = delete;
  T operator=(T value) { return this->store(value), value; }
  volatile T* place() const { return const_cast<volatile T*>(&value_); }

 private:
  T value_{};
};

template <class T, thread_scope Scope = thread_scope_system>
class atomic_ref : public atomic_operations<T, atomic_ref<T, Scope>> {
 public:
  explicit atomic_ref(T& value) : value_(&value) {}
  atomic_ref(const atomic_ref&) = default;
  T operator=(T value) const { return this->store(value), value; }
  volatile T* place() const { return value_; }

 private:
  T* value_;
};

inline void atomic_thread_fence(memory_order, thread_scope = thread_scope_system) {}

namespace std {
template <class T>
using atomic = cuda::atomic<T>;
template <class T>
using atomic_ref = cuda::atomic_ref<T>;
}  // namespace std

}  // namespace cuda
