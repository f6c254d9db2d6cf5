// One page of a run: its state, its frames, and what is in flight for it.
//
// Thread safety: none; the engine's lock.
//
// Invariants (validate_run())
//  1. A page that is mapped or apart (page_state.hpp) has a device frame; any other has none.
//  2. A kCold page has a peer, host or file frame that holds its bytes; one with a peer frame has neither of the
//     others.
//  3. A kGone page's bytes can be recomputed, or are dead.
//  4. A candidate is present or apart, and has a host frame and the fingerprint of the copy there.
//  5. A fingerprint is pending only while the page is evicted, and only a copy in the host or the file has one.
//  6. A page is recalled only in kEvicting and kChecking, and backed only in kCold, kZeroCopy and kReachable, with a
//     host frame.
//  7. A kZeroCopy or kReachable page has a host frame of the tier for these, which is mapped at its address, and no
//     other frame.
#pragma once

#include <cstdint>
#include <optional>

#include "base/epoch.hpp"
#include "base/location.hpp"
#include "base/units.hpp"
#include "observe/event.hpp"
#include "residency/pages/copy_lanes.hpp"
#include "residency/pages/fingerprint_desk.hpp"
#include "residency/pages/fingerprint_worth.hpp"
#include "residency/pages/page_state.hpp"
#include "tier/tier_stack.hpp"

namespace tessera {

// The copy of a page's bytes below the device: of its peer, host and file frames, which hold the same bytes.
struct PageCopy {
  Epoch epoch{};           // the run's last use when the copy was (or is being) made
  bool proven = false;     // a fingerprint confirmed it as of `epoch`
  bool candidate = false;  // the host frame is kept below a page that may have changed
  bool listed = false;     // in the list of candidates (page_copies.hpp)
  bool staging = false;    // the host frame is from the staging reserve, and must be vacated soon
  bool backed = false;     // the host frame is mapped at the page's own address
  // backed: so many devices, the first that its tier admitted, were given access there, beside the page's own.
  std::uint8_t opened_to = 0;
};

// How the page leaves the device. Set when its eviction begins.
struct PageEviction {
  std::uint64_t users = 0;        // is_evicting(): slots of the streams to wait for
  Epoch asked{};                  // the run's last use when the check of its copy was queued
  Location to = Location::kHost;  // kHost or kPeer; during a check: the target if the page has changed
  bool parts = false;             // kResident: it is evicted by way of kParting next
  bool asks = false;              // kParting: it is checked for changes once unmapped
  bool recalled = false;          // kEvicting, kChecking: it was apart and mapped again; the result is not used
  bool onward = false;            // a plan sends it to the file: its host frame is temporary
};

// What is in flight for it. At most one transfer is, so one of `event` and `io` means something.
struct PageTransfer {
  EventId event;        // of the copy out or in, of the check, or of the recomputing work
  IoTicket io;          // kSpilling, kLoading
  Nanoseconds started;  // when it was queued
};

// What is known of its bytes without copying them.
struct PageFingerprint {
  std::optional<Fingerprint> of_copy;                          // of the copy below, if one was taken
  FingerprintDesk::Place pending = FingerprintDesk::kNowhere;  // is_evicting(): the one that is being computed
  FingerprintHabit habit;
  bool wanted = false;  // for the copy that is made next

  bool is_pending() const { return pending != FingerprintDesk::kNowhere; }
};

struct Page {
  PageState state = PageState::kEmpty;
  Location place = Location::kNowhere;  // as last reported to the event log
  std::uint8_t traits = 0;              // a bit for each, as counted in its run
  std::uint8_t lender = 0;              // of `peer`, as PeerTier numbers them

  std::optional<Frame> device;
  std::optional<Frame> peer, host, file;  // while `device` is set too: copies as of copy.epoch

  PageCopy copy;
  PageEviction eviction;
  PageTransfer transfer;
  PageFingerprint fingerprint;

  bool has_copy() const { return peer || host || file; }
  // The lane of its copies below: the peer's if it has a frame there.
  std::size_t lane() const { return peer ? lane_to_lender(lender) : kHostLane; }
  // One copy brings it to the device.
  bool is_near() const { return peer || host; }
  // The check that was asked for has found the copy valid.
  bool is_unchanged() const { return copy.epoch == eviction.asked; }
  // The epoch as of which the transfer in flight is valid.
  Epoch as_of() const {
    const bool is_check = state == PageState::kChecking || state == PageState::kApartChecking ||
                          (state == PageState::kParting && eviction.asks);
    return is_check ? eviction.asked : copy.epoch;
  }
};
// There is one for each 2 MiB of the heap, and evictions scan them.
static_assert(sizeof(Page) <= 200);

}  // namespace tessera
