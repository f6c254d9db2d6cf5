#include "residency/pages/page_mover.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.hpp"

namespace tessera {
namespace {

// A driver may return "not ready" while other threads queue work. That is harmless, but retries are bounded.
constexpr int kAccessTries = 64;

Nearest nearest_of(const Page& page) {
  if (is_mapped(page.state) || is_apart(page.state)) return Nearest::kDevice;
  if (page.peer) return Nearest::kPeer;
  if (page.host && page.state != PageState::kLoading) return Nearest::kHost;
  return page.file ? Nearest::kFile : Nearest::kNowhere;
}

}  // namespace

PageMover::PageMover(Driver& driver, DeviceId device, TierStack tiers, const CopyLanes& lanes, Gate& gate,
                     EventLog& log, ResidencyStats& stats, RunsByTrait& by_trait, const std::atomic<bool>& unseen,
                     bool fingerprints)
    : driver_(driver),
      device_(device),
      tiers_(tiers),
      gate_(gate),
      log_(log),
      stats_(stats),
      by_trait_(by_trait),
      unseen_(unseen),
      lanes_(lanes),
      meters_{LinkMeter(driver, device), LinkMeter(driver, device), LinkMeter(driver, device),
              LinkMeter(driver, device)},
      desk_(driver, device, fingerprints) {}

PageMover::~PageMover() {
  for (EventId event : spare_events_) {
    if (Status status = driver_.destroy_event(event); !status.is_ok()) {
      log_line(LogLevel::kDebug, "an event could not be destroyed: {}", status.to_string());
    }
  }
}

Status PageMover::step(PageRef page, PageEvent event) {
  const auto to = next(page->state, event);
  if (!to) {
    return Status(Code::kInternal, fmt::format("page {:#x}: {} is not a valid transition from {}",
                                               page.address().value(), name_of(event), name_of(page->state)));
  }
  const bool was_present = is_present(page->state);
  const Bytes bytes = page.bytes();
  page.run->bytes_in(page->state) -= bytes;
  page.run->bytes_in(*to) += bytes;
  if (Run* const row = page.run->row) {
    row->bytes_in(page->state) -= bytes;
    row->bytes_in(*to) += bytes;
  }
  if (is_moving(page->state)) moving_[static_cast<std::size_t>(page->state)] -= bytes;
  if (is_moving(*to)) moving_[static_cast<std::size_t>(*to)] += bytes;
  if (page->peer && page->state == PageState::kResident) idle_peer_bytes_ -= bytes;
  if (page->peer && *to == PageState::kResident) idle_peer_bytes_ += bytes;
  page->state = *to;
  if (was_present && !is_present(*to)) page.run->add_missing();
  if (!was_present && is_present(*to)) page.run->drop_missing();
  note_page(page);
  return {};
}

// Call after its state changed or a frame below it was dropped. After a frame was taken, the page's next step calls it,
// or the frame is returned.
void PageMover::note_page(PageRef page) {
  by_trait_.note(*page.run, *page);
  const Nearest place = nearest_of(*page);
  log_.change_place(page.run->tag, page->place, place, page.bytes());
  page->place = place;
}

// Records that the page's bytes crossed a link: in the totals, in its run and in the log.
void PageMover::note_move(PageRef page, EventKind kind) {
  const std::array<Bytes*, kLinks> sums = {&stats_.bytes_in,           &stats_.bytes_out,     &stats_.bytes_file_read,
                                           &stats_.bytes_file_written, &stats_.bytes_peer_in, &stats_.bytes_peer_out};
  const auto link = static_cast<std::size_t>(*link_of(kind));
  *sums[link] += page.bytes();
  page.run->whole().cost.moved[link] += page.bytes();
  log_.record(kind, device_, page->started, page.address(), page.bytes());
}

// ---- onto the device ----------------------------------------------------------------------------

Status PageMover::mount(std::span<const PageRef> pages) {
  if (tiers_.backing == nullptr) return mount_missing(pages);
  std::vector<PageRef> empty, cold;
  for (const PageRef& page : pages) {
    (page->state == PageState::kEmpty ? empty : cold).push_back(page);
  }
  TESSERA_TRY(mount_missing(empty));
  return swap_in(cold);
}

Status PageMover::mount_missing(std::span<const PageRef> pages) {
  std::size_t mapped = 0;
  Status status;
  while (mapped < pages.size() && (status = map_frame(pages[mapped])).is_ok()) ++mapped;
  const auto ready = pages.first(mapped);
  if (Status access = grant_access(ready); !access.is_ok()) {
    for (const PageRef& page : ready) unmap_handles(page, page.bytes());
    return access;
  }
  for (std::size_t i = 0; i < ready.size();) {
    const std::size_t together = batch_of(ready.subspan(i));
    if (Status fill = fill_frames(ready.subspan(i, together)); !fill.is_ok()) {
      for (const PageRef& page : ready.subspan(i)) unmap_handles(page, page.bytes());
      return fill;
    }
    i += together;
  }
  return status;
}

Status PageMover::map_frame(PageRef page) {
  TESSERA_TRY_ASSIGN(page->device, tiers_.device.take(page.page_class()));
  return map_handles(page);
}

// Maps all handles of the page's frame at its address, or returns the frame.
Status PageMover::map_handles(PageRef page) {
  const auto handles = HandleTier::handles_of(*page->device);
  const Bytes each = page.bytes() / handles.size();
  Bytes mapped;
  for (const std::uint64_t handle : handles) {
    if (Status status = driver_.map(page.address() + mapped, each, FrameId(handle)); !status.is_ok()) {
      unmap_handles(page, mapped);
      return status;
    }
    mapped += each;
  }
  return {};
}

// Undoes map_handles for the page's first `mapped` bytes.
void PageMover::unmap_handles(PageRef page, Bytes mapped) {
  const auto unmap = [&] { return mapped ? driver_.unmap(page.address(), mapped) : Status(); };
  Status status = unmap();
  if (!status.is_ok()) status = unmap();
  if (!status.is_ok()) {
    // The frame is leaked and the address stays taken: this is logged, and no byte is lost.
    log_line(LogLevel::kError, "a page could not be unmapped: {}", status.to_string());
    tiers_.device.write_off(*page->device);
  } else {
    tiers_.device.give_back(*page->device);
  }
  page->device.reset();
}

Status PageMover::grant_access(std::span<const PageRef> pages) {
  return for_each_stretch(pages, [&](Address address, Bytes bytes, std::span<const PageRef>) {
    Status status;
    for (int i = 0; i < kAccessTries; ++i) {
      status = driver_.set_access(address, bytes, device_);
      if (status.code() != Code::kNotReady) return status;
      TESSERA_TRY(driver_.synchronize(lanes_.inbound(CopyLocation::kHost)));
    }
    return status;
  });
}

Result<bool> PageMover::event_done(EventId event, bool wait) {
  Status status = wait ? driver_.synchronize(event) : driver_.query(event);
  if (status.code() == Code::kNotReady) return false;
  // A failed wait does not mean that the copy failed: wait for the whole device.
  if (wait && !status.is_ok()) status = driver_.synchronize(device_);
  if (!status.is_ok()) return status;
  return true;
}

Result<bool> PageMover::finish_fetch(PageRef page, bool wait) {
  bool done = false;
  TESSERA_TRY_ASSIGN(done, event_done(page->event, wait));
  if (!done) return false;
  TESSERA_TRY(step(page, PageEvent::kArrive));
  give_back_event(page->event);
  stats_.fetches += 1;
  note_move(page, page->peer ? EventKind::kPeerFetch : EventKind::kFetch);
  const bool may_be_valid = is_surely_clean(page) || page->fingerprint;
  if (!may_be_valid) {
    drop_copies(page);
  } else if (page->staging) {
    return_host_frame(page);  // the file copy remains
  }
  set_candidate(page, page->host && page->fingerprint);
  return true;
}

// ---- off the device -----------------------------------------------------------------------------

Result<bool> PageMover::copied_out(PageRef page, bool wait) { return event_done(page->event, wait); }

// Decides about the page's frame. The gate is closed, so no use can be stamped meanwhile, and a thread that launches
// unannounced work has declared so before.
PageMover::Verdict PageMover::judge(PageRef page, Proof proof) const {
  const Run& run = *page.run;
  const bool leaving = page->state == PageState::kEvicting;
  const bool quiet = run.last_work() <= run.quiet && run.is_evictable();
  if (quiet && run.is_dead()) return Verdict::kDiscard;
  if (page->recalled) return leaving ? Verdict::kForward : Verdict::kStay;
  // Quiet is not enough: pages of one run may be copied at different times, with a write between.
  const bool valid = leaving || proof == Proof::kBytes ? is_clean(page) : is_surely_clean(page);
  if (quiet && valid) return Verdict::kUnmap;
  return leaving ? Verdict::kForward : Verdict::kStay;
}

Status PageMover::vacate(std::span<const PageRef> pages, Proof proof) {
  if (pages.empty()) return {};
  std::vector<PageRef> dead, cold;
  Status result;
  const Gate::Closed closed(gate_);
  TESSERA_TRY(closed.status());
  for (const PageRef& page : pages) {
    // Count the page as missing before reading whether its run is dead: an allocation first counts itself live and then
    // looks for missing pages, so one side always sees the other.
    page.run->add_missing();
    const Verdict verdict = judge(page, proof);
    if (verdict == Verdict::kDiscard) {
      dead.push_back(page);
    } else if (verdict == Verdict::kUnmap) {
      cold.push_back(page);
    } else {
      page.run->drop_missing();
      if (verdict == Verdict::kForward) note_error(result, forward(page));
    }
  }
  for (auto* pages_out : {&dead, &cold}) std::ranges::sort(*pages_out, {}, &PageRef::address);
  note_error(result, take_frames(dead, After::kEmpty));
  note_error(result, take_frames(cold, After::kCold));
  return result;
}

// `after` is the verdict: an allocation may revive the run before its page is gone. REQUIRES: each page has been
// counted as missing.
Status PageMover::take_frames(std::span<const PageRef> pages, After after) {
  return for_each_stretch(pages, [&](Address address, Bytes bytes, std::span<const PageRef> part) {
    Status result = driver_.unmap(address, bytes);
    const bool unmapped = result.is_ok();
    for (const PageRef& page : part) {
      note_error(result, unmapped ? release_frame(page, after) : keep_frame(page));
      page.run->drop_missing();
    }
    return result;
  });
}

// The page's copy is done, but it was used since: drops the copy and keeps the page.
Status PageMover::forward(PageRef page) {
  give_back_event(page->event);
  drop_fingerprint(page);
  page->recalled = false;
  stats_.forwards += 1;
  note_move(page, page->peer ? EventKind::kPeerForward : EventKind::kForward);
  return_near_frame(page);
  return step(page, PageEvent::kForward);
}

Status PageMover::keep_frame(PageRef page) {
  if (page->state == PageState::kParting) return stay(page);
  return page->state == PageState::kEvicting ? forward(page) : Status();
}

Status PageMover::release_frame(PageRef page, After after) {
  const bool copied = page->state == PageState::kEvicting || page->state == PageState::kApartEvicting;
  tiers_.device.give_back(*page->device);
  page->device.reset();
  // The gate is closed, and all uses are over. For a page that is apart this was done when it was unmapped.
  if (!is_apart(page->state)) page.run->streams.store(0);
  const bool awaited = page->state == PageState::kFetching || page->state == PageState::kRecomputing ||
                       page->state == PageState::kChecking || page->state == PageState::kApartChecking;
  page->recalled = false;
  if (copied || awaited) give_back_event(page->event);
  if (copied && after == After::kCold) page->fingerprint = read_fingerprint(page);
  drop_fingerprint(page);
  set_candidate(page, false);
  if (copied) note_move(page, page->peer ? EventKind::kPeerEvict : EventKind::kEvict);
  if (after == After::kEmpty) {
    drop_copies(page);
    stats_.discards += 1;
    return step(page, PageEvent::kDiscard);
  }
  if (after == After::kGone) {
    drop_copies(page);
    stats_.dropped_bytes += page->state == PageState::kBlank ? Bytes() : page.bytes();
    log_.record(EventKind::kDiscard, device_, log_.now(), page.address(), page.bytes());
    return step(page, PageEvent::kDrop);
  }
  if (copied) {
    stats_.evictions += 1;
  } else {
    stats_.clean_evictions += 1;
    if (page->proven) {
      stats_.unchanged_evictions += 1;
      stats_.unchanged_bytes += page.bytes();
    }
    page->proven = false;
    log_.record(EventKind::kDiscard, device_, log_.now(), page.address(), page.bytes());
  }
  return step(page, PageEvent::kUnmap);
}

}  // namespace tessera
