// How much of the device to keep free ahead of need, where a page that leaves on demand is long in coming.
//
// Where work may be unseen a page leaves behind all that is queued when it is chosen. A call that needs room then waits
// for all of it, with nothing queued behind; a call that finds room goes on, and the pages that take its place leave
// behind the work of now. So as much is kept free as has left of late in the time that one takes, from its choice until
// it has left, and twice what leaves at once in any case.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <array>
#include <cstdint>

#include "base/units.hpp"

namespace tessera {

class SpareRoom {
 public:
  // At most this part of a device, low watermark: more costs more fetches than it hides waits.
  static constexpr std::uint64_t kMostPart = 32;
  static constexpr Nanoseconds kWindow{1'000'000'000};

  // By a copy. What leaves without one is soon gone: to keep room for it costs more than it hides.
  void note_leaving(Bytes bytes, Nanoseconds now);
  // How long a page waited for work, and was copied then.
  void note_wait(Nanoseconds time) { blend(wait_, time); }
  void note_copy(Nanoseconds time) { blend(copy_, time); }
  // The low watermark; the high one is twice that. Zero where nothing has left of late, or that is less than a page.
  Bytes low(Bytes capacity, Nanoseconds now) const;

 private:
  static void blend(Nanoseconds& mean, Nanoseconds time);

  Bytes once_;  // what leaves at once, in the mean
  Nanoseconds wait_, copy_;
  Nanoseconds began_;            // of the window of now
  std::array<Bytes, 2> left_{};  // in the window before, and in that of now
};

}  // namespace tessera
