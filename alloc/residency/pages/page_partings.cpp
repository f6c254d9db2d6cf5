#include "residency/pages/page_partings.hpp"

#include <algorithm>
#include <vector>

namespace tessera {

// ---- until it is unmapped -----------------------------------------------------------------------

Result<std::size_t> PagePartings::begin(std::span<const PageRef> pages, Location to) {
  std::size_t taken = 0;
  TESSERA_TRY_ASSIGN(taken, copies_.take(pages, to));
  for (const PageRef& page : pages.first(taken)) {
    page->eviction.asks = false;
    page->transfer.started = machine_.log.now();
    TESSERA_TRY(ledger_.step(page, PageEvent::kPart));
  }
  return taken;
}

Status PagePartings::begin_check(PageRef page) {
  page->eviction.asks = true;
  page->transfer.started = machine_.log.now();
  return ledger_.step(page, PageEvent::kPart);
}

// As in PageMover::vacate(), a page counts as missing before its run is tested for being dead.
Status PagePartings::unmap(std::span<const PageRef> pages) {
  if (pages.empty()) return {};
  std::vector<PageRef> dead, leaving;
  Status result;
  const Gate::Closed closed(machine_.gate);
  TESSERA_TRY(closed.status());
  for (const PageRef& page : pages) {
    const Run& run = *page.run;
    page.run->add_missing();
    const bool quiet = run.last_work() <= page->as_of() && run.is_evictable();
    if (quiet) {
      (run.is_dead() ? dead : leaving).push_back(page);
    } else {
      page.run->drop_missing();
      note_error(result, releases_.stay(page));
    }
  }
  for (auto* pages_out : {&dead, &leaving}) std::ranges::sort(*pages_out, {}, &PageRef::address);
  note_error(result, releases_.unmap(dead, PageReleases::After::kEmpty));
  const auto unmap = [&](Address address, Bytes bytes, std::span<const PageRef> part) {
    Status unmapped = mappings_.unmap_stretch(address, bytes, part.size());
    for (const PageRef& page : part) {
      if (unmapped.is_ok()) page.run->streams.store(0);  // the gate is closed, and all uses are over
      note_error(result, unmapped.is_ok() ? ledger_.step(page, PageEvent::kTakeApart) : releases_.stay(page));
      page.run->drop_missing();
    }
    return unmapped;
  };
  note_error(result, for_each_stretch(leaving, unmap));
  return result;
}

// ---- while it is unmapped -----------------------------------------------------------------------

Status PagePartings::copy(std::span<const PageRef> pages) {
  if (Status queued = links_.queue(CopyWay::kOut, pages); !queued.is_ok()) {
    for (const PageRef& page : pages) copies_.drop_near(page);
    note_error(queued, bring_back(pages));
    return queued;
  }
  for (const PageRef& page : pages) TESSERA_TRY(ledger_.step(page, PageEvent::kCopyOut));
  return {};
}

Status PagePartings::evict(PageRef page) {
  return releases_.release(page, page.run->is_dead() ? PageReleases::After::kEmpty : PageReleases::After::kCold);
}

Status PagePartings::give_up(PageRef page) { return releases_.release(page, PageReleases::After::kEmpty); }

Status PagePartings::bring_back(std::span<const PageRef> pages) {
  std::vector<PageRef> mapped;
  Status status;
  for (const PageRef& page : pages) {
    status = mappings_.map(page);
    if (!status.is_ok()) break;
    mapped.push_back(page);
  }
  std::ranges::sort(mapped, {}, &PageRef::address);
  if (status.is_ok()) status = mappings_.grant_access(mapped);
  if (!status.is_ok()) {
    mappings_.unmap_or_log(mapped);
    return status;
  }
  for (const PageRef& page : mapped) {
    page->eviction.recalled = is_evicting(page->state);
    TESSERA_TRY(ledger_.step(page, PageEvent::kBack));
  }
  return {};
}

}  // namespace tessera
