// Moves one page by one step: the mechanism below all moves, with no decisions of its own.
//
// Each call takes a page of a run from one legal state to the next (page_state.hpp), queues the copy or transfer that
// goes with it, and keeps Run::missing true. The order is: copy complete, unmap, mark; on the way back map, copy, mark.
// A call that fails leaves the page in its state, with the same valid copy; one for several pages does what it can.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <array>
#include <atomic>
#include <span>
#include <unordered_map>
#include <vector>

#include "driver/driver.hpp"
#include "observe/event_log.hpp"
#include "residency/pages/copy_lanes.hpp"
#include "residency/pages/file_meter.hpp"
#include "residency/pages/link_meter.hpp"
#include "residency/pages/page_ref.hpp"
#include "residency/pages/run.hpp"
#include "residency/pages/runs_by_trait.hpp"
#include "residency/residency_stats.hpp"
#include "residency/streams/gate.hpp"
#include "tier/tier_stack.hpp"

namespace tessera {

class PageMover {
 public:
  // File transfers in flight at most, so that the engines of several devices do not take each other's slots: an engine
  // that is refused has transfers of its own to wait for.
  static constexpr std::size_t kMostInFile = 256;

  // REQUIRES: all of them outlive it; if the tiers have a peer, the lanes include those to it. `unseen`: work may use
  // runs without announcing it, so stamps do not prove that a copy is valid.
  PageMover(Driver& driver, DeviceId device, TierStack tiers, const CopyLanes& lanes, Gate& gate, EventLog& log,
            ResidencyStats& stats, RunsByTrait& by_trait, const std::atomic<bool>& unseen, bool fingerprints = true);
  ~PageMover();
  // Registers the memory that fingerprint checks need, so that no later call has to.
  void prepare_checks() { desk_.prepare(); }

  // Puts device frames under pages that are kEmpty (-> kResident), kCold and near (-> kFetching, the copy
  // is queued on an inbound stream) or kGone (-> kBlank). Access is set once per contiguous stretch.
  // With a backing tier kCold pages are there at once (-> kResident), and it REQUIRES what swap_out does.
  // Errors: kOutOfMemory when the device tier has no frame; pages done before it stay done.
  Status mount(std::span<const PageRef> pages);
  // How many of the first pages share one copy over the link; at least one.
  std::size_t batch_of(std::span<const PageRef> pages) const;
  // kResident -> kEvicting, kApart -> kApartEvicting, as of Page::copied, which the caller has set: as many of the
  // first pages as there are frames for, or one alone into a host staging frame. Returns how many. REQUIRES: the pages
  // are at most one batch, and the outbound stream to that memory already waits for their users. Errors: kOutOfMemory
  // when the peers, or the host budget and the staging reserve, have no frame for the first.
  Result<std::size_t> copy_out(std::span<const PageRef> pages, CopyLocation to);
  // kResident -> kCold with a backing tier: the bytes go to host frames, which are then mapped in place of the device
  // frames, so that unannounced accesses find them. Returns the bytes that left. REQUIRES: the gate is closed, and all
  // work on the device is over.
  // Errors: kOutOfMemory when the backing tier has no frame for the first page.
  Result<Bytes> swap_out(std::span<const PageRef> pages);
  // kCold in host -> kSpilling; errors: kOutOfMemory when the file is full, kBusy with kMostInFile.
  Status spill(PageRef page);
  // kCold in file -> kLoading. Errors: kBusy when no host or staging frame is free, or with kMostInFile in flight.
  Status load(PageRef page);

  // These complete a transfer if it has ended; true when the page took a step. `wait`: wait for the end. Errors: the
  // driver's, with the page unchanged.
  Result<bool> finish_fetch(PageRef page, bool wait);
  // Errors: the file's, and the page is kCold where it was, or kLost.
  Result<bool> finish_spill(PageRef page, bool wait);
  Result<bool> finish_load(PageRef page, bool wait);
  Result<bool> copied_out(PageRef page, bool wait);  // whether the copy of a kEvicting page is done

  // page_partings.cpp: unmap first, then copy, so that unannounced work either writes before the copy or faults.
  // Whether copies can read the pages' frames at an address other than the page's own. Logs once why not.
  bool open_aliases(std::span<const PageRef> pages);
  // As copy_out(), but -> kParting: host frames are taken, and nothing is queued.
  Result<std::size_t> part(std::span<const PageRef> pages, CopyLocation to);
  Status part_to_ask(PageRef page);  // when it is unmapped, as of Page::asked, which the caller has set
  // kParting -> kApart behind the closed gate, or -> kResident where the run is held or was used since as_of(), or the
  // driver refuses; dead ones are discarded. REQUIRES: open_aliases(); work up to as_of() is over. Errors: as vacate().
  Status take_apart(std::span<const PageRef> pages);
  Status stay(PageRef page);  // kParting -> kResident
  // kApart -> kApartEvicting; -> kResident where the copies cannot be queued. REQUIRES: part(); the pages are one batch
  // with one target memory.
  Status copy_apart(std::span<const PageRef> pages);
  // kApart, or kApartEvicting whose copy is done -> kCold, or kEmpty of a dead run: the frame goes back.
  Status evict_apart(PageRef page);
  Status give_up_apart(PageRef page);  // -> kEmpty. REQUIRES: what is in flight for it is over or never will be
  // Maps pages that are apart at their own addresses again, on the same frames. Transfers in flight go on, but their
  // results are not used (Page::recalled). Errors: the driver's; all pages are still apart then.
  Status bring_back(std::span<const PageRef> pages);
  // Moves the run's mappings to another address. REQUIRES: no transfer of it is in flight, no work can use it. Errors:
  // the driver's, with nothing changed. A page that cannot be mapped at the new address is kApart until its next use.
  Status rehome(Run& run, Address to);

  // What proves that a page's copy is valid: its stamps; or that it was made, or found equal, behind all relevant work.
  enum class Proof : std::uint8_t { kStamps, kBytes };
  // Takes device frames away behind the closed gate: of dead pages (discarded), kResident pages with a valid copy,
  // kEvicting pages whose copy is done. Skips a page whose run is held or was used since Run::quiet; a kEvicting one is
  // then forwarded. Unmaps once per contiguous stretch. Errors: kNotReady (Gate), with nothing changed.
  Status vacate(std::span<const PageRef> pages, Proof proof = Proof::kStamps);
  // page_checks.cpp: whether a copy is still valid
  // kResident -> kChecking, kApart -> kApartChecking, as of Page::asked, which the caller has set, for as many of
  // the first pages as possible. Returns how many; 0 if none is possible now. REQUIRES: may_check(), as copy_out().
  std::size_t check(std::span<const PageRef> pages);
  // kChecking -> kResident, or kApartChecking -> kApart, as finish_fetch. Afterwards Page::copied == Page::asked if
  // the copy is valid; otherwise the copy is gone. A recalled page has neither result.
  Result<bool> finish_check(PageRef page, bool wait);
  // Whether it is unknown if the copy is valid, a check is possible, and it is likely to cost less than a copy there.
  bool may_check(PageRef page, CopyLocation to);
  // Decides whether its next copy gets a fingerprint, so that the page can be checked at its next eviction.
  void plan_fingerprint(PageRef page);
  // Gives up host frames of candidates (Page::candidate), the newest first: what was fetched last is likely evicted
  // last.
  void drop_candidates(Bytes bytes);
  Bytes candidate_bytes() const { return candidate_bytes_; }
  // Bytes of pages in a moving state (is_moving()); of those being evicted; of these, with work on an outbound stream.
  Bytes moving(PageState state) const { return moving_[static_cast<std::size_t>(state)]; }
  Bytes evicting_bytes() const { return copying_out() + moving(PageState::kParting); }
  Bytes copying_out() const {
    return moving(PageState::kEvicting) + moving(PageState::kChecking) + moving(PageState::kApartEvicting) +
           moving(PageState::kApartChecking);
  }
  void forget(const Run& run);      // it is about to be removed
  void follow_row(const Run& row);  // it has become a row

  // Drops the copies in lower tiers. REQUIRES: no transfer in flight.
  void drop_copies(PageRef page);
  // Drops the host copy of a page that has its bytes elsewhere too. The next two do so in a peer and in the file.
  void drop_host_copy(PageRef page) { return_host_frame(page); }
  void drop_peer_copy(PageRef page) { return_peer_frame(page); }
  void drop_file_copy(PageRef page);
  // kCold or kLost -> kEmpty; nothing is kept.
  Status discard(PageRef page);

  // page_recomputes.cpp: bytes that a callback recomputes
  // Every page of the run -> kGone, its frames and copies freed. Does nothing when the run is in use, was used since
  // Run::quiet, or cannot be recomputed (Run::can_drop()).
  Status drop(Run& run);
  // kBlank -> kGone, or kEmpty when the run is dead. REQUIRES: no queued work uses these pages.
  Status undo_mount(Run& run);
  // kBlank -> kRecomputing: done when the work queued on the stream so far is.
  Status await_recompute(PageRef page, StreamId stream);
  Result<bool> finish_recompute(PageRef page, bool wait);  // as finish_fetch
  Status accept(PageRef page);                             // kBlank -> kResident: the contents do not matter

  // A staging frame becomes an ordinary host frame, if the budget has room.
  bool adopt(PageRef page);
  // Copies in a peer of pages that are kResident: they can be dropped.
  Bytes idle_peer_bytes() const { return idle_peer_bytes_; }

  // Measured bytes per second of the links and the spill files; 0 = not measured yet.
  double in_rate() { return meter(CopyWay::kIn, CopyLocation::kHost).rate(); }
  double out_rate() { return meter(CopyWay::kOut, CopyLocation::kHost).rate(); }
  double peer_rate();  // of the slower direction, as far as measured
  double file_read_rate() const { return file_read_meter_.rate(); }
  double file_write_rate() const { return file_write_meter_.rate(); }

  // Whether the copy in a lower tier equals the device's bytes: by the stamps, and with certainty.
  static bool is_clean(const PageRef& page) { return tessera::is_clean(*page.run, *page); }
  bool is_surely_clean(const PageRef& page) const { return is_clean(page) && !unseen_.load(); }

 private:
  Status step(PageRef page, PageEvent event);
  Status mount_missing(std::span<const PageRef> pages);
  void note_page(PageRef page);
  void note_move(PageRef page, EventKind kind);
  Status map_frame(PageRef page);
  Status map_handles(PageRef page);
  void unmap_handles(PageRef page, Bytes mapped);
  Status grant_access(std::span<const PageRef> pages);
  enum class Verdict : std::uint8_t { kStay, kForward, kDiscard, kUnmap };
  Verdict judge(PageRef page, Proof proof) const;
  Status forward(PageRef page);
  Status keep_frame(PageRef page);
  enum class After : std::uint8_t { kCold, kEmpty, kGone };  // without the frame
  Status take_frames(std::span<const PageRef> pages, After after);
  Status release_frame(PageRef page, After after);
  // page_links.cpp: copies over the link
  Result<EventId> take_event();
  // Returns a page's event to the pool; a shared one with its last page.
  void give_back_event(EventId event);
  LinkMeter& meter(CopyWay way, CopyLocation beside) {
    return meters_[2 * static_cast<std::size_t>(beside) + static_cast<std::size_t>(way)];
  }
  Status queue_copies(CopyWay way, std::span<const PageRef> pages);
  Status queue_on(CopyWay way, std::span<const PageRef> pages, StreamId stream);
  Address bytes_at(PageRef page) const;
  Status queue_with_peer(CopyWay way, std::span<const PageRef> pages, StreamId stream);
  Status record_or_wait(EventId event, StreamId stream);
  void await_queued(StreamId stream);
  Status fill_frames(std::span<const PageRef> pages);
  void share_event(EventId event, std::span<const PageRef> pages);
  Result<std::size_t> take_frames_beside(std::span<const PageRef> pages, CopyLocation to);
  // page_partings.cpp
  Status map_again(PageRef page);
  Status unmap_all(std::span<const PageRef> pages, std::vector<PageRef>& unmapped);
  void unmap_again(std::span<const PageRef> pages);
  // page_checks.cpp
  void queue_fingerprints(std::span<const PageRef> pages);
  std::optional<Fingerprint> read_fingerprint(PageRef page);
  void drop_fingerprint(PageRef page);
  void set_candidate(PageRef page, bool candidate);
  // page_swaps.cpp: moves while no access is possible
  Status swap_in(std::span<const PageRef> pages);
  Status take_place(PageRef page);
  Status fill_in_place(std::span<const PageRef> pages);
  Status arrived(PageRef page);
  Status copy_to_backing(std::span<const PageRef> pages);
  Status over(StreamId stream, Status queued);
  Result<Bytes> leave_place(std::span<const PageRef> pages);
  Status left(PageRef page);
  void back(std::span<const PageRef> pages);
  void return_backing_frame(PageRef page);

  Status check_file_share() const;
  Status file_outcome(PageRef page, bool wait);
  Status take_frame(PageRef page, CopyLocation beside);
  Status take_host_frame(PageRef page);
  void return_host_frame(PageRef page);
  Status take_peer_frame(PageRef page);
  void return_peer_frame(PageRef page);
  // Of a copy that was not made.
  void return_near_frame(PageRef page) { page->peer ? return_peer_frame(page) : return_host_frame(page); }
  Result<bool> event_done(EventId event, bool wait);

  Driver& driver_;
  const DeviceId device_;
  TierStack tiers_;
  Gate& gate_;
  EventLog& log_;
  ResidencyStats& stats_;
  RunsByTrait& by_trait_;
  const std::atomic<bool>& unseen_;
  const CopyLanes& lanes_;
  std::vector<EventId> spare_events_;
  std::unordered_map<EventId, std::size_t> event_shares_;  // of pages with copies that were queued together
  bool copies_at_once_ = true;                             // until the driver reports that it cannot
  int alias_refusals_ = 0;                                 // in a row
  std::array<LinkMeter, 4> meters_;                        // in and out, for the host and for the peers
  FileMeter file_read_meter_;
  FileMeter file_write_meter_;
  FingerprintDesk desk_;
  std::vector<PageRef> candidates_;  // also pages that were candidates, oldest first
  Bytes candidate_bytes_;
  std::array<Bytes, kPageStates> moving_{};  // by state; zero for states without a transfer
  Bytes idle_peer_bytes_;
};

}  // namespace tessera
