#include "residency/eviction/run_eviction.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "residency/pages/row.hpp"

namespace tessera {
namespace {

// Room that is made in host memory may be in pieces that cannot be used.
constexpr int kRoomRounds = 4;

// Whether recomputing is cheaper than the copies it saves; false while the rates are unknown.
bool recompute_pays(const Run& run, double out_rate, double in_rate) {
  if (out_rate <= 0 || in_rate <= 0) return false;
  Bytes dirty;
  for (std::uint32_t i = 0; i < run.shape.pages(); ++i) {
    const bool resident = run.pages[i].state == PageState::kResident;
    if (resident && !is_clean(run, run.pages[i])) dirty += page_bytes(run.shape.page_class(i));
  }
  const double copies =
      static_cast<double>(dirty.value()) / out_rate + static_cast<double>(run.shape.bytes().value()) / in_rate;
  return static_cast<double>(run.recompute->cost.value()) < copies * 1e9;
}

// Work that does not end uses the block, which is no failure of a call that evicts it.
Status busy_if_endless(Status status) {
  if (status.code() != Code::kNotReady) return status;
  return Status(Code::kBusy, std::string(status.message()));
}

}  // namespace

// The work that has to be over before the run is evicted. It has been queued and is fenced; later uses and frees have
// greater epochs. Where work may be unannounced, that is all work on the device, not only the announced uses of the
// run: a kernel that is queued or running may use the run, and what it writes during a copy would be lost. For a dead
// run, the free names the work that may use it.
// `decided`: work queued after that epoch does not count. REQUIRES: a fence was recorded then.
// Nothing while the run may not be evicted: a call in progress that has stamped but not yet queued holds it.
Result<std::optional<RunEviction::Work>> RunEviction::close_work(const Run& run, Epoch decided) {
  const Gate::Closed closed(engine_.gate);
  TESSERA_TRY(closed.status());
  if (!run.is_evictable()) return std::optional<Work>();
  const Epoch used = run.last_work();
  Work work{run.users(), used};
  if (engine_.unseen.load() && !run.is_dead()) {
    work = {StreamTable::kAllStreams, std::max(used, decided.is_never() ? engine_.streams.epoch() : decided)};
  }
  engine_.streams.close(work.until);
  TESSERA_TRY(engine_.streams.fence(work.mask, work.until));
  return std::optional(work);
}

// On demand, no copy is queued behind the program's work: one of its kernels may be waiting for the calling thread.
// While work makes progress it is waited for. If it does not, the run may be evicted all the same if its own announced
// uses are over: a kernel that uses it unannounced then faults, and no write is lost silently. False: the run stays.
Result<bool> RunEviction::await_work(const Run& run, Work& work) {
  const StreamTable& streams = engine_.streams;
  if (streams.passed(work.mask, work.until)) return true;
  Status waited;
  {
    const StallWait waiting(engine_.stall, StallCause::kWork);
    waited = engine_.waits.wait(work.mask, work.until, StreamWaits::Bound::kPatience);
  }
  if (waited.is_ok()) return true;
  if (waited.code() != Code::kNotReady) return waited;
  // Of several stuck streams, one may be waiting for another.
  if (const std::uint64_t stuck = engine_.waits.stuck(); std::has_single_bit(stuck)) {
    const auto slot = static_cast<std::uint32_t>(std::countr_zero(stuck));
    const auto reach = engine_.streams.reach_of_next(slot);
    if (reach) engine_.waiting.accuse(slot, reach->after, reach->until);
  }
  work = {run.users(), run.last_work()};
  return streams.passed(work.mask, work.until);
}

Location RunEviction::first_choice(std::optional<Location> to) const {
  return to.value_or(Location::kPeer) == Location::kPeer && engine_.lanes.to_peer() ? Location::kPeer : Location::kHost;
}

bool RunEviction::may_go_on(std::optional<Location> to) const {
  const TierStack& tiers = engine_.tiers;
  return to == Location::kFile && !tiers.is_backed() && tiers.file.takes_writes();
}

// The last resident pages of the run, up to the wanted bytes. A plan may send pages that have a valid copy elsewhere on
// to a peer, as far as it has room: they are copied once more, and are then fetched over the peer's link. Where work
// may be unannounced, no copy is known to be valid: each page is checked or copied.
Result<RunEviction::EvictionSet> RunEviction::part(Run& run, Bytes wanted, std::optional<Location> to) {
  const Location beside = first_choice(to);
  Bytes room;
  if (to == Location::kPeer && beside == Location::kPeer) {
    TESSERA_TRY_ASSIGN(room, peer_room(wanted));
  }
  const bool onward = may_go_on(to);
  EvictionSet set;
  for (std::uint32_t i = run.shape.pages(); wanted && i-- > 0;) {
    const PageRef page{&run, i};
    if (page->state != PageState::kResident) continue;
    page->eviction.onward = onward;
    const bool moves = !page->peer && room >= page.bytes();
    const bool free = run.is_dead() || (moves_.machine.is_surely_clean(page) && !moves);
    if (!free) room -= std::min(room, page.bytes());
    (free ? set.free_at_once : moves_.checks.is_worthwhile(page, beside) ? set.to_check : set.to_copy).push_back(page);
    wanted -= std::min(wanted, page.bytes());
  }
  return set;
}

// Runs `act` once the work is over; returns the device bytes that it freed: none if the work does not end, so the run
// stays.
template <class Act>
Result<Bytes> RunEviction::free_behind(Run& run, const Work& work, Act act) {
  if (!engine_.streams.passed(work.mask, work.until)) {
    const StallWait waiting(engine_.stall, StallCause::kWork);
    const Status waited = engine_.waits.wait(work.mask, work.until, StreamWaits::Bound::kPatience);
    if (waited.code() == Code::kNotReady) return Bytes();
    TESSERA_TRY(waited);
  }
  run.quiet = std::max(run.quiet, work.until);
  const Bytes before = engine_.tiers.device.room();
  TESSERA_TRY(act());
  return engine_.tiers.device.room() - before;
}

// The last parts first, as the last pages of a run are. Where an error follows evictions, those go on.
Result<Bytes> RunEviction::start_row(Run& row, Bytes wanted, Patience patience, Which which, std::optional<Location> to,
                                     Epoch decided) {
  Bytes total;
  for (auto part = row.parts.rbegin(); part != row.parts.rend() && total < wanted; ++part) {
    const Result<Bytes> left = start(**part, wanted - total, patience, which, to, decided);
    if (!left.is_ok() && !total) return left;
    if (!left.is_ok()) break;
    total += left.value();
  }
  return total;
}

Result<Bytes> RunEviction::start(Run& run, Bytes wanted, Patience patience, Which which, std::optional<Location> to,
                                 Epoch decided) {
  run.prefetch.requested = false;
  if (run.is_row.load(std::memory_order_relaxed)) return start_row(run, wanted, patience, which, to, decided);
  std::optional<Work> work;
  TESSERA_TRY_ASSIGN(work, close_work(run, decided));
  if (!work) return Bytes();
  if (patience == Patience::kDemand && (run.is_dead() || engine_.unseen.load())) {
    bool goes = false;
    TESSERA_TRY_ASSIGN(goes, await_work(run, *work));
    if (!goes) return Bytes();
  } else if (const std::uint64_t stuck = engine_.waits.stuck(); stuck != 0) {
    // A copy behind stuck work would block the link for all others.
    if (!engine_.streams.passed(work->mask & stuck, work->until)) return Bytes();
  }
  const bool is_used = !engine_.streams.passed(run.users(), run.last_work());
  if (is_used && patience == Patience::kAhead) return Bytes();
  if (to == Location::kNowhere) TESSERA_TRY(engine_.streams.poll());  // there is no copy that waits for the work
  const bool in_turn = patience == Patience::kDemand || engine_.streams.passed(work->mask, work->until);
  const bool anyhow = to == Location::kNowhere || which == Which::kWithoutCopy;
  if (may_drop(run, anyhow ? Worth::kAnyhow : Worth::kIfItPays, to)) return in_turn ? drop(run, *work) : Bytes();

  const Location beside = first_choice(to);
  const bool reachable = which != Which::kWithoutCopy && should_stay_reachable(run);
  if (reachable && patience == Patience::kAhead) return Bytes();  // nothing waits for all work ahead of need
  EvictionSet set;
  TESSERA_TRY_ASSIGN(set, part(run, wanted, to));
  if (reachable && patience == Patience::kDemand) {
    const Result<Bytes> kept = keep_reachable(run, set, *work);
    if (!kept.is_ok() || kept.value()) return kept;
    TESSERA_TRY_ASSIGN(set, part(run, wanted, to));  // for room in host memory, copies of the pages may have gone
  }
  const bool swaps = engine_.tiers.is_backed();
  set.apart = which != Which::kWithoutCopy && !swaps && engine_.unseen.load() && !run.is_dead() &&
              moves_.mappings.open_aliases(set.to_check) && moves_.mappings.open_aliases(set.to_copy);
  Bytes total;
  if (in_turn && !set.free_at_once.empty()) {
    TESSERA_TRY_ASSIGN(total, free_behind(run, *work, [&] { return moves_.mover.vacate(set.free_at_once); }));
    transfers_.onward.go_onward(set.free_at_once);
  }
  if (which == Which::kWithoutCopy || (set.to_check.empty() && set.to_copy.empty())) return total;
  const bool waits = !swaps && !set.apart && engine_.unseen.load() && !engine_.streams.passed(work->mask, work->until);
  if (waits && patience == Patience::kAhead) return total;
  if (waits && patience == Patience::kPlanned)
    return Status(Code::kBusy, "no copy is queued behind work that is unseen");
  if (!swaps && !set.apart) TESSERA_TRY(let_copies_wait(*work, beside));
  const Result<Bytes> copied =
      swaps ? swap_out(set.to_copy, patience) : evict_by_copy(std::move(set), *work, patience, beside);
  if (copied.is_ok()) return total + copied.value();
  const bool full = copied.status().code() == Code::kOutOfMemory;
  if (full && total) return total;
  if (full && in_turn && may_drop(run, Worth::kAnyhow)) return drop(run, *work);
  return copied.status();
}

// Pages that find no room in a peer go to the host, and any lender may have the next frame.
Status RunEviction::let_copies_wait(const Work& work, Location to) {
  const CopyLanes& lanes = engine_.lanes;
  TESSERA_TRY(engine_.streams.make_wait(lanes.outbound(kHostLane), work.mask, work.until));
  if (to == Location::kHost) return {};
  for (std::size_t lane = lane_to_lender(0); lane < lanes.count(); ++lane) {
    TESSERA_TRY(engine_.streams.make_wait(lanes.outbound(lane), work.mask, work.until));
  }
  return {};
}

// The bytes of pages to check, and of the others as far as the tiers below have room. REQUIRES: the outbound streams
// wait for the work, or the pages part. Errors: kOutOfMemory where no eviction has begun.
Result<Bytes> RunEviction::evict_by_copy(EvictionSet set, const Work& work, Patience patience, Location to) {
  std::vector<PageRef>& pages = set.to_copy;
  for (auto* each : {&set.to_check, &pages}) {
    for (const PageRef& page : *each) page->eviction.parts = set.apart;
  }
  Bytes total = set.apart ? transfers_.parted.begin_checks(set.to_check, work.mask, work.until, to)
                          : transfers_.checks.begin(set.to_check, work.mask, work.until, to);
  pages.insert(pages.end(), set.to_check.begin(), set.to_check.end());
  for (const PageRef& page : pages) moves_.checks.plan_fingerprint(page);
  for (std::span<const PageRef> rest = pages; !rest.empty();) {
    const auto batch = rest.first(moves_.links.batch_of(rest));
    for (const PageRef& page : batch) page->eviction.users = work.mask;
    const Result<std::size_t> begun = copy_out(batch, work.until, patience, to);
    if (begun.status().code() == Code::kOutOfMemory && total) break;
    TESSERA_TRY(begun.status());
    for (const PageRef& page : rest.first(begun.value())) total += page.bytes();
    rest = rest.subspan(begun.value());
  }
  TESSERA_TRY(transfers_.parted.go_apart());
  return total;
}

// By way of kParting where the pages request it (Page::eviction.parts).
Result<std::size_t> RunEviction::begin_copies(std::span<const PageRef> batch, Location to) {
  return batch.front()->eviction.parts ? transfers_.parted.begin(batch, to) : transfers_.starts.copy_out(batch, to);
}

// Returns of how many of the first pages the eviction has begun. Pages without a host frame have lost only stale
// copies. Errors: kBusy by plan, while host room is being made or passed through.
Result<std::size_t> RunEviction::copy_out(std::span<const PageRef> batch, Epoch used, Patience patience, Location to) {
  if (to == Location::kPeer) {
    Result<std::size_t> begun = copy_to_peer(batch, used);
    if (begun.is_ok()) return begun;
    // Not fatal: only the lender may be lost.
    if (begun.status().code() != Code::kOutOfMemory) note_given_up(begun.status());
  }
  const bool passes = batch.front()->eviction.onward;  // no room is made for pages that will not stay
  for (;;) {
    transfers_.starts.spare_host_room(total_bytes(batch));
    bool awaited = false;
    if (!passes) {
      TESSERA_TRY_ASSIGN(awaited, host_evictor_.yield_to(*batch.front().run, batch.front().bytes()));
    }
    if (awaited) {
      if (patience != Patience::kDemand) return Status(Code::kBusy, "other pages are spilled from host memory first");
      TESSERA_TRY(transfers_.ends.finish(Transfers::Await::kOldest));
      continue;
    }
    for (const PageRef& page : batch) page->copy.epoch = used;
    Result<std::size_t> begun = begin_copies(batch, Location::kHost);
    if (begun.status().code() != Code::kOutOfMemory) return begun;
    if (passes && patience != Patience::kDemand &&
        (moves_.ledger.evicting_bytes() || moves_.ledger.moving(PageState::kSpilling))) {
      return Status(Code::kBusy, "other pages are spilled first");
    }
    if (patience != Patience::kDemand) return begun;
    TESSERA_TRY(host_evictor_.make_room(batch.front().bytes()));
  }
}

// Free room plus idle copies there, which can be dropped. If that is too little, discards what dead runs left there.
Result<Bytes> RunEviction::peer_room(Bytes wanted) {
  const Bytes room = engine_.tiers.peer->usage().room() + moves_.ledger.idle_peer_bytes();
  if (room >= wanted) return room;
  Bytes more;
  TESSERA_TRY_ASSIGN(more, host_evictor_.discard_dead(Location::kPeer, wanted - room));
  return room + more;
}

Result<std::size_t> RunEviction::copy_to_peer(std::span<const PageRef> batch, Epoch used) {
  const Bytes wanted = total_bytes(batch);
  TESSERA_TRY(peer_room(wanted).status());
  const Bytes room = engine_.tiers.peer->usage().room();
  if (room < wanted && moves_.ledger.idle_peer_bytes()) host_evictor_.drop_idle_copies(Location::kPeer, wanted - room);
  for (const PageRef& page : batch) page->copy.epoch = used;
  return begin_copies(batch, Location::kPeer);
}

// Launches do not show all of its uses, and host memory can be mapped at its address.
bool RunEviction::should_stay_reachable(const Run& run) const {
  if (engine_.tiers.zero_copy == nullptr || run.is_dead() || run.recompute) return false;
  return engine_.visibility_of(run) != Visibility::kSeen;
}

// Pages in host memory that is mapped cannot be spilled, so with a file the others keep half of it.
bool RunEviction::has_room_for_reachable(Bytes bytes) const {
  const TierStack& tiers = engine_.tiers;
  if (!tiers.file.reach()) return true;
  Bytes reachable;
  for (const Run& run : engine_.with(PageTrait::kReachable)) reachable += run.bytes_in(PageState::kReachable);
  return reachable + bytes <= (tiers.host.usage().capacity + tiers.zero_copy->usage().used) / 2;
}

// Waits for all work on the device, including unannounced work, as a swap does. Returns the bytes that left: none where
// host memory has no room or work does not end, so that the pages have to leave as all others do. Errors: the driver's,
// where none has left.
Result<Bytes> RunEviction::keep_reachable(const Run& run, const EvictionSet& set, const Work& work) {
  std::vector<PageRef> pages = set.to_copy;
  pages.insert(pages.end(), set.to_check.begin(), set.to_check.end());
  const auto once = [&]() -> Result<Bytes> {
    const Gate::Closed closed(engine_.gate);
    TESSERA_TRY(closed.status());
    if (!run.is_evictable()) return Status(Code::kNotReady, "it is used");
    TESSERA_TRY(engine_.await_all_work());
    const StallWait waiting(engine_.stall, StallCause::kCopyOut);
    engine_.any_in_host.store(true);
    return moves_.zero_copy.keep_reachable(pages);
  };
  // Work that makes no progress has been waited for already.
  if (!pages.empty() && engine_.streams.passed(StreamTable::kAllStreams, work.until) &&
      has_room_for_reachable(total_bytes(pages))) {
    Result<Bytes> kept = once();
    for (int rounds = 0; kept.status().code() == Code::kOutOfMemory && rounds < kRoomRounds; ++rounds) {
      if (!host_evictor_.make_room(pages.front().bytes()).is_ok()) break;
      kept = once();
    }
    const Code code = kept.status().code();
    if (code != Code::kOutOfMemory && code != Code::kNotReady) return kept;
  }
  engine_.stats.left_unreachable += pages.size();
  return Bytes();
}

// Waits for all work on the device, including unannounced work, so the swap is complete on return.
Result<Bytes> RunEviction::swap_out(std::span<const PageRef> pages, Patience patience) {
  const auto once = [&]() -> Result<Bytes> {
    const Gate::Closed closed(engine_.gate);
    TESSERA_TRY(closed.status());
    if (!pages.front().run->is_evictable()) return Bytes();
    TESSERA_TRY(engine_.await_all_work());
    const StallWait waiting(engine_.stall, StallCause::kCopyOut);
    return moves_.swaps.out(pages);
  };
  for (;;) {
    Result<Bytes> out = once();
    if (out.is_ok() || out.status().code() != Code::kOutOfMemory) return out;
    if (patience != Patience::kDemand) return out;
    TESSERA_TRY(host_evictor_.make_room(pages.front().bytes()));
  }
}

// With host-backed pages no address may be without its bytes. Pages that find no room in a peer would use the host's
// link.
bool RunEviction::may_drop(const Run& run, Worth worth, std::optional<Location> to) const {
  if (engine_.tiers.is_backed() || !run.can_drop()) return false;
  if (worth == Worth::kAnyhow) return true;
  const bool with_peer = first_choice(to) == Location::kPeer &&
                         engine_.tiers.peer->usage().room() + moves_.ledger.idle_peer_bytes() >= run.shape.bytes();
  if (with_peer) return recompute_pays(run, moves_.links.peer_rate(), moves_.links.peer_rate());
  return recompute_pays(run, moves_.links.out_rate(), moves_.links.in_rate());
}

Result<Bytes> RunEviction::drop(Run& run, const Work& work) {
  return free_behind(run, work, [&] { return moves_.recomputes.drop(run); });
}

Status RunEviction::await_arrival(Run& run) {
  for (const PageRef& page : pages_of(run)) {
    const bool comes = is_arriving(page->state) || page->state == PageState::kRecomputing;
    if (comes) TESSERA_TRY(busy_if_endless(transfers_.ends.settle(page)));
  }
  return {};
}

Status RunEviction::evict(Run& run, std::optional<Location> to) {
  for (Bytes before = run.shape.bytes() + Bytes(1);;) {
    if (!run.is_evictable()) return Status(Code::kBusy, "the block is pinned or in use");
    TESSERA_TRY(await_arrival(run));
    TESSERA_TRY(start(run, run.shape.bytes(), Patience::kDemand, Which::kAll, to).status());
    while (run.evicting_bytes()) {
      TESSERA_TRY(busy_if_endless(transfers_.ends.finish(Transfers::Await::kEvicting, run.evicting_bytes())));
    }
    const Bytes left = run.bytes_in(PageState::kResident) + run.bytes_in(PageState::kFetching) +
                       run.bytes_in(PageState::kApart) + run.bytes_in(PageState::kRecomputing);
    if (!left) return {};
    if (left >= before) return Status(Code::kBusy, "the block was used during its eviction");
    before = left;
  }
}

}  // namespace tessera
