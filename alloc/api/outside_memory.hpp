// Device memory that a program has from the driver and not from the heap, as the interposer reports it, and when a line
// about it is due: most of a program's device memory does not move then.
//
// A line is due once, when on a device more than half of the program's memory is outside, and that is at least an
// eighth of the device: a program that allocates little outside before its first block is no such program. So the
// amount decides, and not the time. What stays below that until the program ends is judged then, by its peak.
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "base/units.hpp"

namespace tessera {

class OutsideMemory {
 public:
  struct Report {
    DeviceId device;
    std::string kind, remedy, first_call;
    Bytes bytes;
    bool imported = false;  // memory of another process: listed, but not counted
  };
  struct Part {
    std::string kind, remedy, first_call;
    Bytes bytes, peak;
    bool imported = false;
  };
  struct Figures {
    Bytes bytes, peak;        // without what is imported
    std::vector<Part> parts;  // by kind, of all devices; those that there ever were
  };

  // Whether so much was added since the last check that the caller should call line_if_due(). Beyond kMostParts kinds
  // and devices a report is ignored.
  bool set(const Report& report);
  // The line, once. `in_heap`: of live blocks on the device.
  std::optional<std::string> line_if_due(DeviceId device, Bytes in_heap, Bytes of_device);
  // The same at the end of a program, by the peaks; none if there was one before.
  std::optional<std::string> line_at_end(Bytes peak_in_heap);
  Figures figures() const;

 private:
  static constexpr std::size_t kMostParts = 256;

  Bytes counted(std::optional<DeviceId> device) const REQUIRES_LOCK(mutex_);
  std::string line(const char* what, Bytes outside, Bytes in_heap) const REQUIRES_LOCK(mutex_);

  mutable Mutex mutex_{LockRank::kObserve};
  std::map<std::pair<std::string, DeviceId>, Part> parts_ GUARDED_BY(mutex_);
  Bytes peak_ GUARDED_BY(mutex_);
  Bytes next_check_ GUARDED_BY(mutex_);
  bool said_ GUARDED_BY(mutex_) = false;
};

}  // namespace tessera
