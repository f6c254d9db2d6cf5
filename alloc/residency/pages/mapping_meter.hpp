// Measured time of the driver's calls that map pages with access, and that unmap them.
//
// They take about as long for a large page as for a small one, so it is counted per page. While pages are copied to the
// host, a driver may wait before it sets access (docs/decisions/0041-copies-out-beside-mappings.md), so mappings beside
// such copies are a series of their own. Few of them wait for as long as it can take, and now and then a thread is
// interrupted in any of them: hence ranks of the latest times, and neither means nor extremes.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <array>
#include <cstddef>

#include "base/units.hpp"

namespace tessera {

class MappingMeter {
 public:
  // `pages` were mapped in `time`, together. `beside_copies`: while others were copied to the host. REQUIRES: pages >
  // 0.
  void note_mapped(std::size_t pages, Nanoseconds time, bool beside_copies);
  void note_unmapped(std::size_t pages, Nanoseconds time);  // REQUIRES: pages > 0

  // What a page takes, to be mapped and unmapped, without that wait. 0 before the first measurement.
  Nanoseconds per_page() const { return mapped() + unmapped_.ranked(1, 2); }
  // How long that wait can be. 0 if none was seen.
  Nanoseconds copy_turn() const;

 private:
  class Latest {
   public:
    void note(Nanoseconds time);
    bool empty() const { return noted_ == 0; }
    // The time that `part` of `whole` of the latest times are less than; 0 without any. REQUIRES: part < whole.
    Nanoseconds ranked(std::size_t part, std::size_t whole) const;

   private:
    std::array<Nanoseconds, 64> times_{};
    std::size_t noted_ = 0;
  };
  Nanoseconds mapped() const { return alone_.empty() ? beside_copies_.ranked(0, 1) : alone_.ranked(1, 2); }

  Latest alone_, beside_copies_, unmapped_;
};

}  // namespace tessera
