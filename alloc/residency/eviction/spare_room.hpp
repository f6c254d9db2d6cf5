// How much device memory to keep free ahead of need, where an eviction on demand takes long.
//
// Where work may be unannounced, a page is evicted behind all work queued when it was chosen. A call that needs room
// then waits for all of that work, with nothing queued behind it. A call that finds room proceeds, and the pages
// evicted in return wait only for the work queued by then. So the room kept free is what was recently evicted in the
// time that one eviction takes, from choice to end, and at least twice the usual size of one eviction.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <array>
#include <cstdint>

#include "base/units.hpp"

namespace tessera {

class SpareRoom {
 public:
  // At most this fraction of a device as low watermark: more costs more fetches than it hides waits.
  static constexpr std::uint64_t kMostPart = 32;
  static constexpr Nanoseconds kWindow{1'000'000'000};

  // An eviction by copy. Evictions without one are quick: keeping room for them costs more than it hides.
  void note_leaving(Bytes bytes, Nanoseconds now);
  // How long a page waited for work, and how long its copy then took.
  void note_wait(Nanoseconds time) { blend(wait_, time); }
  void note_copy(Nanoseconds time) { blend(copy_, time); }
  // The low watermark; the high one is twice that. Zero where nothing was evicted recently, or for less than a page.
  Bytes low(Bytes capacity, Nanoseconds now) const;

 private:
  static void blend(Nanoseconds& mean, Nanoseconds time);

  Bytes once_;  // mean bytes per eviction
  Nanoseconds wait_, copy_;
  Nanoseconds began_;            // of the current window
  std::array<Bytes, 2> left_{};  // in the previous window, and in the current one
};

}  // namespace tessera
