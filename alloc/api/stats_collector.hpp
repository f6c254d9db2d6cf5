// The statistics of all devices, tiers and tags, collected from the parts that count them.
//
// Thread safety: every call may be made from any thread. Figures of a snapshot are each correct; sums are exact only
// while no other thread allocates.
#pragma once

#include "api/activity.hpp"
#include "api/device_heaps.hpp"
#include "api/lower_tiers.hpp"
#include "api/outside_memory.hpp"
#include "api/pins.hpp"
#include "api/stats_report.hpp"
#include "api/tag_table.hpp"

namespace tessera {

class StatsCollector {
 public:
  // REQUIRES: all of it outlives it.
  StatsCollector(Driver& driver, const DeviceHeaps& heaps, const LowerTiers& lower, const TagTable& tags,
                 const Pins& pins, Activity& activity)
      : driver_(driver), heaps_(heaps), lower_(lower), tags_(tags), pins_(pins), activity_(activity) {}

  StatsSnapshot snapshot() const;
  // Device memory that the program has from the driver itself. Logs the line that is due.
  void set_outside(const OutsideMemory::Report& report);
  OutsideMemory& outside() { return outside_; }

 private:
  Driver& driver_;
  const DeviceHeaps& heaps_;
  const LowerTiers& lower_;
  const TagTable& tags_;
  const Pins& pins_;
  Activity& activity_;
  OutsideMemory outside_;
};

}  // namespace tessera
