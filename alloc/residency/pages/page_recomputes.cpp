#include "residency/pages/page_recomputes.hpp"

#include <vector>

namespace tessera {

// Not all pages have to go: the callback recomputes all bytes, including those of a page that could not be unmapped.
// The run counts as missing before it is tested, as in PageMover::vacate().
Status PageRecomputes::drop(Run& run) {
  std::vector<PageRef> mapped, cold;
  const Gate::Closed closed(machine_.gate);
  TESSERA_TRY(closed.status());
  for (std::uint32_t i = 0; i < run.shape.pages(); ++i) {
    const PageRef page{&run, i};
    (is_mapped(page->state) ? mapped : cold).push_back(page);
  }
  run.add_missing(static_cast<std::uint32_t>(mapped.size()));
  if (!run.can_drop() || !run.is_evictable() || run.last_work() > run.quiet) {
    run.drop_missing(static_cast<std::uint32_t>(mapped.size()));
    return {};
  }
  for (const PageRef& page : cold) {
    if (page->state != PageState::kCold) continue;
    copies_.drop_all(page);
    TESSERA_TRY(ledger_.step(page, PageEvent::kDrop));
    machine_.stats.dropped_bytes += page.bytes();
  }
  return releases_.unmap(mapped, PageReleases::After::kGone);
}

Status PageRecomputes::undo_mount(Run& run) {
  std::vector<PageRef> blank;
  for (std::uint32_t i = 0; i < run.shape.pages(); ++i) {
    if (run.pages[i].state == PageState::kBlank) blank.push_back({&run, i});
  }
  const Gate::Closed closed(machine_.gate);
  TESSERA_TRY(closed.status());
  run.add_missing(static_cast<std::uint32_t>(blank.size()));
  return releases_.unmap(blank, run.is_dead() ? PageReleases::After::kEmpty : PageReleases::After::kGone);
}

Status PageRecomputes::await(PageRef page, StreamId stream) {
  TESSERA_TRY(links_.record_for({&page, 1}, stream));
  page->transfer.started = machine_.log.now();
  return ledger_.step(page, PageEvent::kRecompute);
}

Result<bool> PageRecomputes::finish(PageRef page, bool wait) {
  bool done = false;
  TESSERA_TRY_ASSIGN(done, links_.is_done(page, wait));
  if (!done) return false;
  TESSERA_TRY(ledger_.step(page, PageEvent::kRecomputed));
  links_.give_back_event(page);
  machine_.stats.recomputed_bytes += page.bytes();
  machine_.log.record(EventKind::kRecompute, machine_.device, page->transfer.started, page.address(), page.bytes());
  return true;
}

Status PageRecomputes::accept(PageRef page) { return ledger_.step(page, PageEvent::kBack); }

}  // namespace tessera
