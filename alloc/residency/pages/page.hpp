// One page of a run: its state, its frames, and what is in flight for it.
//
// Thread safety: none; the engine's lock.
//
// Invariants (validate_run())
//  1. A page that is mapped or apart (page_state.hpp) has a device frame; any other has none.
//  2. A kCold page has a peer, host or file frame that holds its bytes; one with a peer frame has neither of the
//     others.
//  3. A kGone page's bytes can be recomputed, or are dead.
#pragma once

#include <cstdint>
#include <optional>

#include "base/units.hpp"
#include "observe/event.hpp"
#include "residency/pages/copy_lanes.hpp"
#include "residency/pages/fingerprint_desk.hpp"
#include "residency/pages/fingerprint_worth.hpp"
#include "residency/pages/page_state.hpp"
#include "tier/tier_stack.hpp"

namespace tessera {

struct Page {
  PageState state = PageState::kEmpty;
  bool staging = false;               // the host frame is from the staging reserve, and must be vacated soon
  bool onward = false;                // a plan sends it to the file: its host frame is temporary
  bool backed = false;                // kCold: the host frame is mapped at the page's own address
  Nearest place = Nearest::kNowhere;  // as last reported to the event log
  std::optional<Frame> device;
  std::optional<Frame> peer;                     // while `device` is set too: a copy as of epoch `copied`
  std::optional<Frame> host;                     // the same
  std::optional<Frame> file;                     // the same
  std::uint64_t copied = 0;                      // the run's last use when the copy below was (or is being) made
  std::uint64_t asked = 0;                       // the same when the check of that copy was queued
  CopyLocation leaves_to = CopyLocation::kHost;  // during a check: target if the page has changed
  std::uint64_t users = 0;                       // is_evicting(): slots of the streams to wait for
  bool parts = false;                            // kResident: it is evicted by way of kParting next
  bool asks = false;                             // kParting: it is checked for changes once unmapped
  bool recalled = false;  // kEvicting, kChecking: it was apart and mapped again; the result is not used
  EventId event;          // of the copy out or in, of the check, or of the recomputing work
  IoTicket io;            // kSpilling, kLoading: the transfer
  Nanoseconds started;    // when the transfer in flight was queued
  std::optional<Fingerprint> fingerprint;                             // of the copy below, if one was taken
  FingerprintDesk::Place fingerprint_at = FingerprintDesk::kNowhere;  // is_evicting(): the pending one
  FingerprintHabit habit;
  bool wants_fingerprint = false;  // for the copy that is made next
  bool candidate = false;          // the host frame is kept below a page that may have changed
  bool listed = false;             // in the list of candidates (page_copies.hpp)
  bool proven = false;             // `copied` was confirmed by a fingerprint
  std::uint8_t traits = 0;         // a bit for each, as counted in its run

  bool has_copy() const { return peer || host || file; }
  // One copy brings it to the device.
  bool is_near() const { return peer || host; }
  // The epoch as of which the transfer in flight is valid.
  std::uint64_t as_of() const {
    const bool is_asked =
        state == PageState::kChecking || state == PageState::kApartChecking || (state == PageState::kParting && asks);
    return is_asked ? asked : copied;
  }
};

}  // namespace tessera
