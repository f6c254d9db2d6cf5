#include "residency/eviction/parted_evictions.hpp"

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

// No copy is added to this much. At 50 GB/s it lasts for 0.3 ms: the pump looks three times meanwhile.
constexpr Bytes kMostInFlight = 16_MiB;

}  // namespace

Result<std::size_t> PartedEvictions::begin(std::span<const PageRef> batch, Location to) {
  Result<std::size_t> begun = moves_.partings.begin(batch, to);
  if (!begun.is_ok()) return begun;
  for (const PageRef& page : batch.first(begun.value())) {
    page->eviction.parts = false;
    in_flight_.add_parting(page);
  }
  engine_.spare.note_leaving(total_bytes(batch.first(begun.value())), engine_.log.now());
  return begun;
}

Bytes PartedEvictions::begin_checks(std::vector<PageRef>& pages, std::uint64_t mask, Epoch used, Location to) {
  for (const PageRef& page : pages) page->eviction.asked = used;
  Bytes total;
  for (const PageRef& page : std::exchange(pages, {})) {
    page->eviction.parts = false;
    page->eviction.users = mask;
    page->eviction.to = to;
    if (!moves_.partings.begin_check(page).is_ok()) continue;  // validate() reports it
    in_flight_.add_parting(page);
    total += page.bytes();
  }
  return total;
}

Status PartedEvictions::go_apart() { return go_apart(holds_ == 0 ? kMostInFlight : Bytes()); }

Status PartedEvictions::go_apart(Bytes most) {
  const std::span<const PageRef> parting = in_flight_.parting();
  if (parting.empty()) return {};
  Status result = engine_.streams.poll();
  // A stream first used after these pages began to part has no fence yet, so it is unknown whether it has passed.
  note_error(result, engine_.streams.fence(parting.front()->eviction.users, parting.front()->as_of()));
  Bytes copying = moves_.ledger.copying_out();
  const std::vector<PageRef> ready = in_flight_.take_parting_if([&](const PageRef& page) {
    const bool copies = !page.run->is_dead();
    if ((copies && copying >= most) || !engine_.streams.passed(page->eviction.users, page->as_of())) return false;
    if (copies) copying += page.bytes();
    return true;
  });
  for (const PageRef& page : ready) engine_.spare.note_wait(engine_.log.now() - page->transfer.started);
  note_error(result, moves_.partings.unmap(ready));
  std::vector<PageRef> asked, copied;
  for (const PageRef& page : ready) {
    if (page->state == PageState::kParting) in_flight_.add_parting(page);  // a launch does not return
    if (page->state != PageState::kApart) continue;
    (page->eviction.asks ? asked : copied).push_back(page);
  }
  checks_.begin_apart(asked);
  note_error(result, copy(copied));
  return result;
}

Status PartedEvictions::copy(std::span<const PageRef> pages) {
  Status result;
  while (!pages.empty()) {
    const auto batch = pages.first(moves_.links.batch_of(pages));
    Status begun = moves_.partings.copy(batch);
    if (begun.is_ok()) {
      for (const PageRef& page : batch) in_flight_.add(page);
    }
    note_error(result, std::move(begun));
    pages = pages.subspan(batch.size());
  }
  return result;
}

// Work that does not end may be waiting for the program, and so for this call: a page that such work is not known to
// use is evicted all the same, as on demand; any other stays.
Status PartedEvictions::await_oldest() {
  const PageRef page = in_flight_.parting().front();
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
      in_flight_.remove(page);
    }
    waited = {};
  }
  TESSERA_TRY(waited);
  return go_apart(kMostInFlight);
}

// Each copy starts as soon as it can, not when the work before the last is over.
Status PartedEvictions::await_copies(Bytes bytes) {
  TESSERA_TRY(go_apart(std::min(bytes, kMostInFlight)));
  const Bytes before = engine_.tiers.device.room();
  const auto so_far = [&] {
    return std::max(engine_.tiers.device.room(), before) - before + moves_.ledger.copying_out();
  };
  const auto may_begin = [&] { return so_far() < bytes && moves_.ledger.copying_out() < kMostInFlight; };
  while (!in_flight_.parting().empty() && may_begin()) TESSERA_TRY(await_oldest());
  return {};
}

}  // namespace tessera
