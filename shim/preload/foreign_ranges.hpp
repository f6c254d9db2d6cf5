// Addresses of the heap at which the driver has mapped memory of its own, because the program mapped a handle of the
// driver's there. Calls that use them are left to the driver.
//
// Thread safety: any thread. A call that tests an address takes the lock only once there has been such a range.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

#include "cuda_api.hpp"

namespace tessera::preload {

class ForeignRanges {
 public:
  void add(CUdeviceptr address, std::size_t bytes);
  // Ranges that begin in [address, address + bytes).
  void remove(CUdeviceptr address, std::size_t bytes);
  bool holds(CUdeviceptr address);
  void clear();

 private:
  std::mutex mutex_;
  std::map<CUdeviceptr, std::size_t> ranges_;
};

// The instance of this process.
ForeignRanges& foreign_ranges();

}  // namespace tessera::preload
