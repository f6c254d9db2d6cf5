#include "residency/pages/page_checks.hpp"

#include <algorithm>
#include <utility>

namespace tessera {

void PageChecks::plan_fingerprint(PageRef page) {
  page->fingerprint.wanted = page->fingerprint.habit.counts_copy() && fingerprints_.pays_to_take(links_.out_rate());
}

bool PageChecks::is_worthwhile(PageRef page, Location to) {
  const bool can_be_asked = page->fingerprint.of_copy && page->has_copy() && !machine_.is_surely_clean(page);
  return can_be_asked && fingerprints_.pays_to_ask(links_.out_rate(to));
}

std::size_t PageChecks::begin(std::span<const PageRef> pages) {
  std::size_t count = 0;
  for (Bytes bytes; count < std::min(pages.size(), kMostFingerprints); ++count) {
    bytes += pages[count].bytes();
    if (bytes > FingerprintDesk::kMostBytes) break;
  }
  const auto ready = pages.first(count);
  for (const PageRef& page : ready) page->fingerprint.wanted = true;
  fingerprints_.queue(ready);
  for (const PageRef& page : ready) page->fingerprint.wanted = false;
  if (!ready.front()->fingerprint.is_pending()) return 0;
  if (!links_.record_for(ready, machine_.lanes.outbound(kHostLane)).is_ok()) {
    for (const PageRef& page : ready) fingerprints_.drop(page);
    return 0;
  }
  for (const PageRef& page : ready) {
    if (!ledger_.step(page, PageEvent::kCheck).is_ok()) return 0;  // validate() reports it
  }
  return count;
}

Result<bool> PageChecks::finish(PageRef page, bool wait) {
  bool done = false;
  TESSERA_TRY_ASSIGN(done, links_.is_done(page, wait));
  if (!done) return false;
  const bool same = fingerprints_.read(page) == page->fingerprint.of_copy;
  links_.give_back_event(page);
  TESSERA_TRY(ledger_.step(page, PageEvent::kChecked));
  machine_.stats.checks += 1;
  fingerprints_.note(page.bytes(), same);
  if (std::exchange(page->eviction.recalled, false)) return true;  // and may have been written since
  if (same) {
    page->fingerprint.habit.same();
    page->copy.epoch = page->eviction.asked;
    page->copy.proven = true;
    return true;
  }
  page->fingerprint.habit.changed();
  machine_.stats.checks_changed += 1;
  copies_.drop_all(page);
  return true;
}

}  // namespace tessera
