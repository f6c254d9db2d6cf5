// Whether a page's old copy still equals its bytes: fingerprints of copies, and of pages that are to be evicted.
//
// The fingerprint of a copy is computed from the device's bytes, behind the copy in its stream; a page used in between
// keeps neither. When the page is to be evicted again, another is computed behind its users, as a copy would be. If
// they are equal, the copy is as good as one made at that moment, and no better: a later use makes the page stay, as it
// does for a copy (vacate()).
#include <algorithm>
#include <utility>

#include "residency/pages/page_mover.hpp"
#include "residency/pages/row.hpp"

namespace tessera {

// For the pages that want one. On failure they only lose the chance of a later check.
void PageMover::queue_fingerprints(std::span<const PageRef> pages) {
  std::vector<DeviceRange> ranges;
  for (const PageRef& page : pages) {
    if (page->wants_fingerprint) ranges.push_back({bytes_at(page), page.bytes()});
  }
  if (ranges.empty()) return;
  const std::optional<FingerprintDesk::Place> first = desk_.queue(ranges, lanes_.outbound(CopyLocation::kHost));
  if (!first) return;
  FingerprintDesk::Place place = *first;
  for (const PageRef& page : pages) {
    if (!page->wants_fingerprint) continue;
    page->fingerprint_at = place;
    place = FingerprintDesk::after(place, page.bytes());
  }
}

// The fingerprint queued for it, which is complete by now; nothing if none was queued.
std::optional<Fingerprint> PageMover::read_fingerprint(PageRef page) {
  if (page->fingerprint_at == FingerprintDesk::kNowhere) return std::nullopt;
  return desk_.read(std::exchange(page->fingerprint_at, FingerprintDesk::kNowhere), page.bytes());
}

void PageMover::drop_fingerprint(PageRef page) {
  if (page->fingerprint_at == FingerprintDesk::kNowhere) return;
  desk_.drop(std::exchange(page->fingerprint_at, FingerprintDesk::kNowhere));
}

bool PageMover::may_check(PageRef page, CopyLocation to) {
  const bool can_be_asked = page->fingerprint && page->has_copy() && !is_surely_clean(page);
  return can_be_asked && desk_.pays_to_ask(meter(CopyWay::kOut, to).rate());
}

void PageMover::plan_fingerprint(PageRef page) {
  page->wants_fingerprint = page->habit.counts_copy() && desk_.pays_to_take(out_rate());
}

std::size_t PageMover::check(std::span<const PageRef> pages) {
  std::size_t count = 0;
  for (Bytes bytes; count < std::min(pages.size(), kMostFingerprints); ++count) {
    bytes += pages[count].bytes();
    if (bytes > FingerprintDesk::kMostBytes) break;
  }
  const auto ready = pages.first(count);
  const Result<EventId> event = take_event();
  if (!event.is_ok()) return 0;
  for (const PageRef& page : ready) page->wants_fingerprint = true;
  queue_fingerprints(ready);
  for (const PageRef& page : ready) page->wants_fingerprint = false;
  const bool queued = ready.front()->fingerprint_at != FingerprintDesk::kNowhere;
  if (!queued || !record_or_wait(event.value(), lanes_.outbound(CopyLocation::kHost)).is_ok()) {
    for (const PageRef& page : ready) drop_fingerprint(page);
    give_back_event(event.value());
    return 0;
  }
  share_event(event.value(), ready);
  for (const PageRef& page : ready) {
    if (!step(page, PageEvent::kCheck).is_ok()) return 0;  // validate() reports it
  }
  return count;
}

Result<bool> PageMover::finish_check(PageRef page, bool wait) {
  bool done = false;
  TESSERA_TRY_ASSIGN(done, event_done(page->event, wait));
  if (!done) return false;
  const bool same = read_fingerprint(page) == page->fingerprint;
  give_back_event(page->event);
  TESSERA_TRY(step(page, PageEvent::kChecked));
  stats_.checks += 1;
  desk_.note(page.bytes(), same);
  if (std::exchange(page->recalled, false)) return true;  // and may have been written since
  if (same) {
    page->habit.same();
    page->copied = page->asked;
    page->proven = true;
    return true;
  }
  page->habit.changed();
  stats_.checks_changed += 1;
  drop_copies(page);
  return true;
}

// ---- candidates --------------------------------------------------------------------------------

// REQUIRES: set only while the host frame and its fingerprint exist.
void PageMover::set_candidate(PageRef page, bool candidate) {
  if (page->candidate == candidate) return;
  page->candidate = candidate;
  if (candidate) {
    candidate_bytes_ += page.bytes();
  } else {
    candidate_bytes_ -= page.bytes();
  }
  if (!candidate || page->listed) return;
  page->listed = true;
  candidates_.push_back(page);
}

void PageMover::drop_candidates(Bytes bytes) {
  std::vector<PageRef> asked;
  for (Bytes dropped; dropped < bytes && !candidates_.empty();) {
    const PageRef page = candidates_.back();
    candidates_.pop_back();
    const bool is_asked = is_evicting(page->state) && page->candidate;
    if (is_asked) {
      asked.push_back(page);
      continue;
    }
    page->listed = false;
    if (!page->candidate) continue;
    drop_host_copy(page);
    dropped += page.bytes();
  }
  candidates_.insert(candidates_.end(), asked.rbegin(), asked.rend());
}

void PageMover::forget(const Run& run) {
  for (std::size_t i = 0; i < kPageStates; ++i) {
    const auto state = static_cast<PageState>(i);
    if (is_moving(state)) moving_[i] -= run.bytes_in(state);
  }
  if (std::ranges::none_of(run.pages, &Page::listed)) return;
  std::erase_if(candidates_, [&](const PageRef& page) { return page.run == &run; });
}

void PageMover::follow_row(const Run& row) { move_to_row(row, candidates_); }

}  // namespace tessera
