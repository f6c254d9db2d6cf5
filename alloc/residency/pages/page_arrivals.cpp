#include "residency/pages/page_arrivals.hpp"

namespace tessera {

// ---- until it is mapped -------------------------------------------------------------------------

Status PageArrivals::begin(std::span<const PageRef> pages) {
  std::size_t taken = 0;
  Status status;
  while (taken < pages.size() && (status = mappings_.take_apart(pages[taken])).is_ok()) ++taken;
  const auto ready = pages.first(taken);
  for (std::size_t i = 0; i < ready.size();) {
    const std::size_t together = links_.batch_of(ready.subspan(i));
    if (Status begun = fetch(ready.subspan(i, together)); !begun.is_ok()) {
      for (const PageRef& page : ready.subspan(i)) {
        if (page->device) mappings_.give_back_apart(page);
      }
      return begun;
    }
    i += together;
  }
  if (status.code() == Code::kNotSupported) return mover_.mount(pages.subspan(taken));
  return status;
}

// The step comes first, since it decides to which address the copy is made. On failure the pages have no frames.
Status PageArrivals::fetch(std::span<const PageRef> batch) {
  for (const PageRef& page : batch) TESSERA_TRY(ledger_.step(page, PageEvent::kCopyInApart));
  Status queued = links_.queue(CopyWay::kIn, batch);
  if (queued.is_ok()) return queued;
  for (const PageRef& page : batch) TESSERA_TRY(give_up(page));
  return queued;
}

Status PageArrivals::give_up(PageRef page) {
  mappings_.give_back_apart(page);
  return ledger_.step(page, PageEvent::kUnmap);
}

// ---- when its bytes are there -------------------------------------------------------------------

Status PageArrivals::land(std::span<const PageRef> pages) {
  if (pages.empty()) return {};
  Status result;
  const bool together = partings_.bring_back(pages).is_ok();
  for (const PageRef& page : pages) {
    const Status mapped = together ? Status() : partings_.bring_back({&page, 1});
    if (mapped.is_ok()) {
      note_error(result, mover_.arrive(page));
      continue;
    }
    note_error(result, mapped);
    links_.give_back_event(page);
    ledger_.note_move(page, page->peer ? EventKind::kPeerFetch : EventKind::kFetch);
    page.run->prefetch.requested = false;
    note_error(result, give_up(page));
  }
  return result;
}

}  // namespace tessera
