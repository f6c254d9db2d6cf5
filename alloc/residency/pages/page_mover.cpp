#include "residency/pages/page_mover.hpp"

#include <algorithm>
#include <vector>

namespace tessera {

// ---- onto the device ----------------------------------------------------------------------------

Status PageMover::mount(std::span<const PageRef> pages) {
  if (machine_.tiers.backing == nullptr) return mount_missing(pages);
  std::vector<PageRef> empty, cold;
  for (const PageRef& page : pages) {
    (page->state == PageState::kEmpty ? empty : cold).push_back(page);
  }
  TESSERA_TRY(mount_missing(empty));
  return swaps_.in(cold);
}

Status PageMover::mount_missing(std::span<const PageRef> pages) {
  std::size_t mapped = 0;
  Status status;
  while (mapped < pages.size() && (status = mappings_.take(pages[mapped])).is_ok()) ++mapped;
  const auto ready = pages.first(mapped);
  if (Status access = mappings_.grant_access(ready); !access.is_ok()) {
    for (const PageRef& page : ready) mappings_.give_back(page);
    return access;
  }
  for (std::size_t i = 0; i < ready.size();) {
    const std::size_t together = links_.batch_of(ready.subspan(i));
    if (Status fill = fill_frames(ready.subspan(i, together)); !fill.is_ok()) {
      for (const PageRef& page : ready.subspan(i)) mappings_.give_back(page);
      return fill;
    }
    i += together;
  }
  return status;
}

// One page in any state that mount() accepts, or several to be fetched by copy.
Status PageMover::fill_frames(std::span<const PageRef> pages) {
  const PageRef first = pages.front();
  if (first->state == PageState::kEmpty) return ledger_.step(first, PageEvent::kBack);
  if (first->state == PageState::kGone) return ledger_.step(first, PageEvent::kMount);
  TESSERA_TRY(links_.queue(CopyWay::kIn, pages));
  for (const PageRef& page : pages) TESSERA_TRY(ledger_.step(page, PageEvent::kCopyIn));
  return {};
}

Result<bool> PageMover::finish_fetch(PageRef page, bool wait) {
  bool done = false;
  TESSERA_TRY_ASSIGN(done, links_.is_done(page, wait));
  if (!done) return false;
  TESSERA_TRY(arrive(page));
  return true;
}

Status PageMover::arrive(PageRef page) {
  TESSERA_TRY(ledger_.step(page, PageEvent::kArrive));
  links_.give_back_event(page);
  machine_.stats.fetches += 1;
  ledger_.note_move(page, page->peer ? EventKind::kPeerFetch : EventKind::kFetch);
  const bool may_be_valid = machine_.is_surely_clean(page) || page->fingerprint.of_copy;
  if (!may_be_valid) {
    copies_.drop_all(page);
  } else if (page->copy.staging) {
    copies_.drop_host(page);  // the file copy remains
  }
  copies_.set_candidate(page, page->host && page->fingerprint.of_copy);
  return {};
}

// ---- off the device -----------------------------------------------------------------------------

Result<std::size_t> PageMover::copy_out(std::span<const PageRef> pages, Location to) {
  std::size_t taken = 0;
  TESSERA_TRY_ASSIGN(taken, copies_.take(pages, to));
  const auto ready = pages.first(taken);
  if (Status queued = links_.queue(CopyWay::kOut, ready); !queued.is_ok()) {
    for (const PageRef& page : ready) copies_.drop_near(page);
    return queued;
  }
  for (const PageRef& page : ready) TESSERA_TRY(ledger_.step(page, PageEvent::kCopyOut));
  return taken;
}

// Decides about the page's frame. The gate is closed, so no use can be stamped meanwhile, and a thread that launches
// unannounced work has declared so before.
PageMover::Verdict PageMover::judge(PageRef page, Proof proof) const {
  const Run& run = *page.run;
  const bool leaving = page->state == PageState::kEvicting;
  const bool quiet = run.last_work() <= run.quiet && run.is_evictable();
  if (quiet && run.is_dead()) return Verdict::kDiscard;
  if (page->eviction.recalled) return leaving ? Verdict::kForward : Verdict::kStay;
  // Quiet is not enough: pages of one run may be copied at different times, with a write between.
  const bool valid = leaving || proof == Proof::kBytes ? is_clean(run, *page) : machine_.is_surely_clean(page);
  if (quiet && valid) return Verdict::kUnmap;
  return leaving ? Verdict::kForward : Verdict::kStay;
}

Status PageMover::vacate(std::span<const PageRef> pages, Proof proof) {
  if (pages.empty()) return {};
  std::vector<PageRef> dead, cold;
  cold.reserve(pages.size());
  Status result;
  const Gate::Closed closed(machine_.gate);
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
      if (verdict == Verdict::kForward) note_error(result, releases_.forward(page));
    }
  }
  for (auto* pages_out : {&dead, &cold}) std::ranges::sort(*pages_out, {}, &PageRef::address);
  note_error(result, releases_.unmap(dead, PageReleases::After::kEmpty));
  note_error(result, releases_.unmap(cold, PageReleases::After::kCold));
  return result;
}

}  // namespace tessera
