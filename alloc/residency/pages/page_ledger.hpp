// The state of every page, and all that is counted from it: takes a page from one legal state to the next.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <array>

#include "residency/pages/bytes_by_tag.hpp"
#include "residency/pages/page_machine.hpp"
#include "residency/pages/page_ref.hpp"
#include "residency/pages/runs_by_trait.hpp"

namespace tessera {

class PageLedger {
 public:
  PageLedger(const PageMachine& machine, RunsByTrait& by_trait) : machine_(machine), by_trait_(by_trait) {}

  // Along the table in page_state.cpp; keeps Run::missing true. Errors: kInternal where the table has no such step.
  Status step(PageRef page, PageEvent event);
  // Call after a frame below the page was dropped. After a frame was taken, the page's next step does this, or the
  // frame is returned.
  void note_frames(PageRef page);
  // The page got a frame in a peer, or is about to return it.
  void note_peer_frame(PageRef page);
  void note_peer_frame_leaving(PageRef page);
  // Its bytes crossed a link: counted in the totals, in its run and in the log.
  void note_move(PageRef page, EventKind kind);
  void forget(const Run& run);  // it is about to be removed

  // Bytes of pages in a moving state (is_moving()); of those being copied to the device; of those being evicted; of
  // these, with work on an outbound stream.
  Bytes moving(PageState state) const { return moving_[static_cast<std::size_t>(state)]; }
  Bytes arriving_bytes() const { return moving(PageState::kFetching) + moving(PageState::kApartFetching); }
  Bytes evicting_bytes() const { return copying_out() + moving(PageState::kParting); }
  Bytes copying_out() const {
    return moving(PageState::kEvicting) + moving(PageState::kChecking) + moving(PageState::kApartEvicting) +
           moving(PageState::kApartChecking);
  }
  // Of copying_out(), what crosses the link to the host.
  Bytes copying_to_host() const { return copying_to_host_; }
  // Copies in a peer of pages that are kResident: they can be dropped.
  Bytes idle_peer_bytes() const { return idle_peer_bytes_; }
  const BytesByTag& by_tag() const { return by_tag_; }
  // Errors: kInternal where these do not add up. REQUIRES: all runs with pages.
  Status validate(const RunList& runs) const;

 private:
  const PageMachine& machine_;
  RunsByTrait& by_trait_;
  std::array<Bytes, kPageStates> moving_{};  // by state; zero for states without a transfer
  Bytes copying_to_host_;
  Bytes idle_peer_bytes_;
  BytesByTag by_tag_;
};

}  // namespace tessera
