// A green context's share of a device: which resources can be split, by which rules, and resource descriptors.
//
// The software device enforces no shares: they are only recorded and reported.
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

// The smallest group of multiprocessors, of which group sizes are also multiples, on a device with this many of them:
// 8, as on compute capability 9.0, or fewer if the device has fewer.
unsigned group_unit(std::uint64_t multiprocessors);

// Resources in the form that the driver returns.
TesseraDevResource multiprocessors_of(DeviceId device, unsigned count, unsigned alignment);
TesseraDevResource queue_settings_of(DeviceId device, unsigned limit, int scope);
TesseraDevResource queues_of(DeviceId device);
// False for a resource that was not returned by this driver.
bool is_of(const TesseraDevResource& resource, DeviceId& device);

// A descriptor is valid until the process ends.
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
