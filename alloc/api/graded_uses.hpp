// Uses by words of which some may not be addresses: the blocks of those are fetched only as far as they fit.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <cstddef>
#include <vector>

#include "api/announced_use.hpp"
#include "api/device_heaps.hpp"
#include "api/uses.hpp"

namespace tessera {

class GradedUses {
 public:
  // REQUIRES: both outlive it.
  GradedUses(DeviceHeaps& heaps, Uses& uses) : heaps_(heaps), uses_(uses) {}

  // Queued work that writes. Of the words that may not be addresses, as many blocks are fetched as fit beside the rest.
  // Uses::end ends it. Errors: as Uses::begin.
  Status begin(const GradedAddresses& words, StreamId stream, Access access, const char* name, AnnouncedUse& use);

 private:
  struct Chosen {
    std::vector<Address> addresses;  // the first `needed` are required
    std::size_t needed = 0;
  };
  Status begin_fitting(const GradedAddresses& words, StreamId stream, Access access, const char* name,
                       AnnouncedUse& use);
  Result<Chosen> choose_fitting(const GradedAddresses& words, bool refuses_strays);

  DeviceHeaps& heaps_;
  Uses& uses_;
};

}  // namespace tessera
