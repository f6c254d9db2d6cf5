// Evicting a run without a copy and recomputing it by its callback: the steps of its pages.
#include <algorithm>

#include "residency/pages/page_mover.hpp"

namespace tessera {

// Not all pages have to go: the callback recomputes all bytes, including those of a page that could not be unmapped.
// The run counts as missing before it is tested, as in vacate().
Status PageMover::drop(Run& run) {
  std::vector<PageRef> mapped, cold;
  const Gate::Closed closed(gate_);
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
    drop_copies(page);
    TESSERA_TRY(step(page, PageEvent::kDrop));
    stats_.dropped_bytes += page.bytes();
  }
  return take_frames(mapped, After::kGone);
}

Status PageMover::undo_mount(Run& run) {
  std::vector<PageRef> blank;
  for (std::uint32_t i = 0; i < run.shape.pages(); ++i) {
    if (run.pages[i].state == PageState::kBlank) blank.push_back({&run, i});
  }
  const Gate::Closed closed(gate_);
  TESSERA_TRY(closed.status());
  run.add_missing(static_cast<std::uint32_t>(blank.size()));
  return take_frames(blank, run.is_dead() ? After::kEmpty : After::kGone);
}

Status PageMover::await_recompute(PageRef page, StreamId stream) {
  EventId event;
  TESSERA_TRY_ASSIGN(event, take_event());
  if (Status status = record_or_wait(event, stream); !status.is_ok()) {
    give_back_event(event);
    return status;
  }
  page->event = event;
  page->started = log_.now();
  return step(page, PageEvent::kRecompute);
}

Result<bool> PageMover::finish_recompute(PageRef page, bool wait) {
  bool done = false;
  TESSERA_TRY_ASSIGN(done, event_done(page->event, wait));
  if (!done) return false;
  TESSERA_TRY(step(page, PageEvent::kRecomputed));
  give_back_event(page->event);
  stats_.recomputed_bytes += page.bytes();
  log_.record(EventKind::kRecompute, device_, page->started, page.address(), page.bytes());
  return true;
}

Status PageMover::accept(PageRef page) { return step(page, PageEvent::kBack); }

}  // namespace tessera
