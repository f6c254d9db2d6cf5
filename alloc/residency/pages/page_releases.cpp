#include "residency/pages/page_releases.hpp"

namespace tessera {

Status PageReleases::unmap(std::span<const PageRef> pages, After after) {
  return for_each_stretch(pages, [&](Address address, Bytes bytes, std::span<const PageRef> part) {
    Status result = mappings_.unmap_stretch(address, bytes, part.size());
    const bool unmapped = result.is_ok();
    for (const PageRef& page : part) {
      note_error(result, unmapped ? release(page, after) : keep(page));
      page.run->drop_missing();
    }
    return result;
  });
}

// The driver did not unmap it.
Status PageReleases::keep(PageRef page) {
  if (page->state == PageState::kParting) return stay(page);
  return page->state == PageState::kEvicting ? forward(page) : Status();
}

Status PageReleases::forward(PageRef page) {
  links_.give_back_event(page);
  fingerprints_.drop(page);
  page->eviction.recalled = false;
  machine_.stats.forwards += 1;
  ledger_.note_move(page, page->peer ? EventKind::kPeerForward : EventKind::kForward);
  copies_.drop_near(page);
  return ledger_.step(page, PageEvent::kForward);
}

Status PageReleases::stay(PageRef page) {
  if (!page->eviction.asks) copies_.drop_near(page);  // it has no bytes yet
  return ledger_.step(page, PageEvent::kForward);
}

Status PageReleases::discard(PageRef page) {
  copies_.drop_all(page);
  machine_.stats.discards += 1;
  return ledger_.step(page, PageEvent::kDiscard);
}

Status PageReleases::release(PageRef page, After after) {
  ResidencyStats& stats = machine_.stats;
  const bool copied = page->state == PageState::kEvicting || page->state == PageState::kApartEvicting;
  machine_.tiers.device.give_back(*page->device);
  page->device.reset();
  // The gate is closed, and all uses are over. For a page that is apart this was done when it was unmapped.
  if (!is_apart(page->state)) page.run->streams.store(0);
  const bool awaited = is_arriving(page->state) || page->state == PageState::kRecomputing ||
                       page->state == PageState::kChecking || page->state == PageState::kApartChecking;
  page->eviction.recalled = false;
  if (copied || awaited) links_.give_back_event(page);
  if (copied && after == After::kCold) page->fingerprint.of_copy = fingerprints_.read(page);
  fingerprints_.drop(page);
  copies_.set_candidate(page, false);
  if (copied) ledger_.note_move(page, page->peer ? EventKind::kPeerEvict : EventKind::kEvict);
  if (after == After::kEmpty) return discard(page);
  if (after == After::kGone) {
    copies_.drop_all(page);
    stats.dropped_bytes += page->state == PageState::kBlank ? Bytes() : page.bytes();
    machine_.log.record(EventKind::kDiscard, machine_.device, machine_.log.now(), page.address(), page.bytes());
    return ledger_.step(page, PageEvent::kDrop);
  }
  if (copied) {
    stats.evictions += 1;
  } else {
    stats.clean_evictions += 1;
    if (page->copy.proven) {
      stats.unchanged_evictions += 1;
      stats.unchanged_bytes += page.bytes();
    }
    page->copy.proven = false;
    machine_.log.record(EventKind::kDiscard, machine_.device, machine_.log.now(), page.address(), page.bytes());
  }
  return ledger_.step(page, PageEvent::kUnmap);
}

}  // namespace tessera
