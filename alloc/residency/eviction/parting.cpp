// Pages in kParting: the host waits for the work before them, unmaps them, and then starts their copies.
//
// A copy queued behind that work would start by itself, but with the page still mapped. So each poll of the transfers
// first checks for the end of that work, and a call that needs room waits for it before the copy.
#include <algorithm>
#include <iterator>
#include <utility>

#include "residency/eviction/transfers.hpp"

namespace tessera {

Result<std::size_t> Transfers::part(std::span<const PageRef> batch, Location to) {
  Result<std::size_t> begun = moves_.partings.begin(batch, to);
  if (!begun.is_ok()) return begun;
  for (const PageRef& page : batch.first(begun.value())) {
    page->eviction.parts = false;
    parting_.push_back(page);
  }
  engine_.spare.note_leaving(total_bytes(batch.first(begun.value())), engine_.log.now());
  publish_count();
  return begun;
}

Bytes Transfers::part_to_ask(std::vector<PageRef>& pages, std::uint64_t mask, Location to) {
  Bytes total;
  for (const PageRef& page : std::exchange(pages, {})) {
    page->eviction.parts = false;
    page->eviction.users = mask;
    page->eviction.to = to;
    if (!moves_.partings.begin_check(page).is_ok()) continue;  // validate() reports it
    parting_.push_back(page);
    total += page.bytes();
  }
  publish_count();
  return total;
}

Status Transfers::recall(std::span<const PageRef> pages) { return moves_.partings.bring_back(pages); }

Status Transfers::go_apart() {
  if (parting_.empty()) return {};
  Status result = engine_.streams.poll();
  // A stream first used after these pages began to part has no fence yet, so it is unknown whether it has passed.
  note_error(result, engine_.streams.fence(parting_.front()->eviction.users, parting_.front()->as_of()));
  std::vector<PageRef> ready, asked, copied, left;
  std::erase_if(parting_, [&](const PageRef& page) {
    if (!engine_.streams.passed(page->eviction.users, page->as_of())) return false;
    ready.push_back(page);
    return true;
  });
  for (const PageRef& page : ready) engine_.spare.note_wait(engine_.log.now() - page->transfer.started);
  note_error(result, moves_.partings.unmap(ready));
  for (const PageRef& page : ready) {
    if (page->state == PageState::kParting) parting_.push_back(page);  // a launch does not return
    if (page->state != PageState::kApart) continue;
    (page->eviction.asks ? asked : copied).push_back(page);
  }
  ask_apart(asked);
  note_error(result, copy_apart(copied));
  publish_count();
  return result;
}

// Pages that cannot be checked are copied.
void Transfers::ask_apart(std::span<const PageRef> pages) {
  for (std::size_t count = 1; !pages.empty() && count > 0; pages = pages.subspan(count)) {
    count = moves_.checks.begin(pages);
    for (const PageRef& page : pages.first(count)) started(page);
  }
  copy_changed({pages.begin(), pages.end()});
}

Status Transfers::copy_apart(std::span<const PageRef> pages) {
  Status result;
  while (!pages.empty()) {
    const Location to = beside_of(*pages.front());
    const auto elsewhere = std::ranges::find_if(pages, [to](const PageRef& page) { return beside_of(*page) != to; });
    const auto batch = pages.first(moves_.links.batch_of({pages.begin(), elsewhere}));
    Status begun = moves_.partings.copy(batch);
    if (begun.is_ok()) {
      for (const PageRef& page : batch) started(page);
    }
    note_error(result, std::move(begun));
    pages = pages.subspan(batch.size());
  }
  return result;
}

// On return the oldest has left the list, or the wait has failed. Work that does not end may be waiting for the
// program, and so for this call: a page that such work is not known to use is evicted all the same, as on demand; any
// other stays.
Status Transfers::await_parting() {
  const PageRef page = parting_.front();
  Status waited;
  {
    const StallWait waiting(engine_.stall, StallCause::kWork);
    waited = engine_.waits.wait(page->eviction.users, page->as_of(), StreamWaits::Bound::kPatience);
  }
  if (waited.code() == Code::kNotReady) {
    const Run& run = *page.run;
    if (engine_.streams.passed(run.users(), run.last_work())) {
      page->eviction.users = run.users();
      (page->eviction.asks ? page->eviction.asked : page->copy.epoch) = run.last_work();
    } else {
      TESSERA_TRY(moves_.releases.stay(page));
      forget(page);
    }
    waited = {};
  }
  TESSERA_TRY(waited);
  return go_apart();
}

// Waits until copies of this many bytes are in flight, or no page is left: each copy starts as soon as it can, not when
// the work before the last is over.
Status Transfers::part_for(Bytes bytes) {
  TESSERA_TRY(go_apart());
  const Bytes before = engine_.tiers.device.usage().room();
  const auto so_far = [&] {
    return std::max(engine_.tiers.device.usage().room(), before) - before + moves_.ledger.copying_out();
  };
  while (!parting_.empty() && so_far() < bytes) TESSERA_TRY(await_parting());
  return {};
}

// On return, the transfers to be waited for have been started.
Status Transfers::await_parted(Await await, Bytes bytes) {
  if (await == Await::kEvicting) return part_for(bytes);
  if (await == Await::kOldest && moving_.empty() && !parting_.empty()) return await_parting();
  return go_apart();
}

}  // namespace tessera
