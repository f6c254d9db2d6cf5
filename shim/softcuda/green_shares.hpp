// What green contexts have of a device: what can be divided, by which rules, and descriptions of parts.
//
// Nothing is kept apart on this device: shares are told and added up.
//
// Thread safety: GreenShares from any thread; the rest are values.
#pragma once

#include <deque>
#include <optional>
#include <span>

#include "base/mutex.hpp"
#include "base/units.hpp"
#include "context.hpp"
#include "cuda_api.hpp"
#include "newer_resources.h"

namespace tessera::softcuda {

// The smallest group of a device of this many multiprocessors, and what counts of groups are multiples of, as of
// compute capability 9.0: 8 of each, where there are as many.
unsigned group_unit(std::uint64_t multiprocessors);

// Resources as the driver hands them out.
TesseraDevResource multiprocessors_of(DeviceId device, unsigned count, unsigned alignment);
TesseraDevResource queue_settings_of(DeviceId device, unsigned limit, int scope);
TesseraDevResource queues_of(DeviceId device);
// False for what no call of this driver made.
bool is_of(const TesseraDevResource& resource, DeviceId& device);

// A description is valid as long as the process is.
class GreenShares {
 public:
  struct Described {
    DeviceId device;
    GreenShare share;
  };

  CUdevResourceDesc describe(const Described& what);
  std::optional<Described> find(CUdevResourceDesc description);

 private:
  Mutex mutex_{LockRank::kRegistry};
  std::deque<Described> all_ GUARDED_BY(mutex_);
};

}  // namespace tessera::softcuda
