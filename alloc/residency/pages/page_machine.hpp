// What the steps of pages are made with: the driver, the tiers, the streams for copies, the gate, and the records kept.
//
// Thread safety: immutable; what it refers to has rules of its own.
#pragma once

#include <atomic>

#include "driver/driver.hpp"
#include "observe/event_log.hpp"
#include "residency/pages/copy_lanes.hpp"
#include "residency/pages/page_ref.hpp"
#include "residency/residency_stats.hpp"
#include "residency/streams/gate.hpp"
#include "tier/tier_stack.hpp"

namespace tessera {

struct PageMachine {
  Driver& driver;
  const DeviceId device;
  const TierStack tiers;
  const CopyLanes& lanes;  // if the tiers have a peer, those to it are among them
  Gate& gate;
  EventLog& log;
  ResidencyStats& stats;
  const std::atomic<bool>& unseen;  // work may use runs without announcing it: stamps do not prove that a copy is valid

  // Sets access with retries: a driver may return "not ready" while other threads queue work. That is harmless, but
  // retries are bounded. Errors: the driver's.
  Status grant_access(Address address, Bytes bytes) const { return grant_access(address, bytes, device); }
  // The same for another device, whose work uses the range.
  Status grant_access(Address address, Bytes bytes, DeviceId user) const {
    constexpr int kTries = 64;
    Status status;
    for (int i = 0; i < kTries; ++i) {
      status = driver.set_access(address, bytes, user);
      if (status.code() != Code::kNotReady) return status;
      TESSERA_TRY(driver.synchronize(lanes.inbound(kHostLane)));
    }
    return status;
  }

  // Whether the copy in a lower tier equals the device's bytes, with certainty.
  bool is_surely_clean(PageRef page) const { return is_clean(*page.run, *page) && !unseen.load(); }
};

}  // namespace tessera
