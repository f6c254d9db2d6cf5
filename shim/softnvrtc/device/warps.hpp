// Warp-level functions: votes, shuffles, reductions.
//
// The lanes in the mask meet, and each sees the values of the others. A lane in the mask that has ended is not waited
// for; where CUDA leaves a value undefined, the result is the lane's own value.
//
// Thread safety: as in softcuda_fibers.hpp.
#pragma once

namespace softcuda {

inline unsigned own_lane() {
  return static_cast<unsigned>(running - running->crew->fibers) % kWarp;
}

// The value that a lane brought to the last meeting of `self`.
inline unsigned long long shown_by(const Fiber& self, unsigned lane) {
  const bool was_there = lane < kWarp && (self.met >> lane & 1) != 0;
  return was_there ? (&self - own_lane() + lane)->shown : self.shown;
}

template <class T>
inline unsigned long long to_bits(T value) {
  static_assert(sizeof(T) <= 8, "a lane exchanges at most 8 bytes");
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return bits;
}

// Each lane gets the value of lane `from`.
template <class T>
inline T shuffle(unsigned mask, T value, unsigned from) {
  const unsigned long long bits = shown_by(meet_lanes(mask, to_bits(value)), from);
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}

// Folds the values of all lanes, lowest lane first.
template <class T, class Fold>
inline T reduce(unsigned mask, T value, Fold fold) {
  const Fiber& self = meet_lanes(mask, to_bits(value));
  bool is_first = true;
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    if ((self.met >> lane & 1) == 0) continue;
    const unsigned long long bits = shown_by(self, lane);
    T brought;
    __builtin_memcpy(&brought, &bits, sizeof(T));
    value = is_first ? brought : fold(value, brought);
    is_first = false;
  }
  return value;
}

}  // namespace softcuda

// A block has only one barrier here: all of its threads have to arrive, whatever the barrier number.
inline void __barrier_sync(unsigned) { softcuda::meet_block(false); }
inline void __syncwarp(unsigned mask = 0xffffffff) { softcuda::meet_lanes(mask, 0); }

template <class T>
inline T __shfl_sync(unsigned mask, T value, int from, int width = warpSize) {
  const unsigned inside = static_cast<unsigned>(width) - 1;
  const unsigned lane = softcuda::own_lane();
  return softcuda::shuffle(mask, value, (lane & ~inside) | (static_cast<unsigned>(from) & inside));
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = warpSize) {
  const unsigned lane = softcuda::own_lane();
  const bool is_inside = (lane & (static_cast<unsigned>(width) - 1)) >= by;
  return softcuda::shuffle(mask, value, is_inside ? lane - by : lane);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = warpSize) {
  const unsigned lane = softcuda::own_lane();
  const bool is_inside = (lane & (static_cast<unsigned>(width) - 1)) + by < static_cast<unsigned>(width);
  return softcuda::shuffle(mask, value, is_inside ? lane + by : lane);
}
// Lanes of later groups cannot be read, those of earlier groups can.
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int with, int width = warpSize) {
  const unsigned lane = softcuda::own_lane();
  const unsigned from = lane ^ static_cast<unsigned>(with);
  const unsigned end = (lane & ~(static_cast<unsigned>(width) - 1)) + static_cast<unsigned>(width);
  return softcuda::shuffle(mask, value, from < end ? from : lane);
}

inline unsigned __ballot_sync(unsigned mask, int yes) {
  const unsigned own = yes != 0 ? 1U << softcuda::own_lane() : 0U;
  return softcuda::reduce(mask, own, [](unsigned x, unsigned y) { return x | y; });
}
inline int __any_sync(unsigned mask, int yes) { return __ballot_sync(mask, yes) != 0; }
inline int __all_sync(unsigned mask, int yes) { return __ballot_sync(mask, yes == 0) == 0; }
template <class T>
inline unsigned __match_any_sync(unsigned mask, T value) {
  const softcuda::Fiber& self = softcuda::meet_lanes(mask, softcuda::to_bits(value));
  unsigned same = 0;
  for (unsigned lane = 0; lane < softcuda::kWarp; ++lane) {
    const bool is_there = (self.met >> lane & 1) != 0;
    if (is_there && softcuda::shown_by(self, lane) == self.shown) same |= 1U << lane;
  }
  return same;
}

template <class T>
inline T __reduce_add_sync(unsigned mask, T value) {
  return softcuda::reduce(mask, value, [](T x, T y) { return x + y; });
}
template <class T>
inline T __reduce_min_sync(unsigned mask, T value) {
  return softcuda::reduce(mask, value, [](T x, T y) { return y < x ? y : x; });
}
template <class T>
inline T __reduce_max_sync(unsigned mask, T value) {
  return softcuda::reduce(mask, value, [](T x, T y) { return x < y ? y : x; });
}
inline unsigned __reduce_and_sync(unsigned mask, unsigned value) {
  return softcuda::reduce(mask, value, [](unsigned x, unsigned y) { return x & y; });
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned value) {
  return softcuda::reduce(mask, value, [](unsigned x, unsigned y) { return x | y; });
}
inline unsigned __reduce_xor_sync(unsigned mask, unsigned value) {
  return softcuda::reduce(mask, value, [](unsigned x, unsigned y) { return x ^ y; });
}
