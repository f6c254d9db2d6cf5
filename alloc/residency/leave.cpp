// How a run leaves the device: page by page, and what each needs before.
#include <algorithm>

#include "residency/room.hpp"

namespace tessera {
namespace {

// Against the copies that it saves; not while nobody knows what they take.
bool remake_pays(const Run& run, double out_rate, double in_rate) {
  if (out_rate <= 0 || in_rate <= 0) return false;
  Bytes dirty;
  for (std::uint32_t i = 0; i < run.shape.pages(); ++i) {
    const bool resident = run.pages[i].state == PageState::kResident;
    if (resident && !is_clean(run, run.pages[i])) dirty += page_bytes(run.shape.page_class(i));
  }
  const double copies = static_cast<double>(dirty.value()) / out_rate +
                        static_cast<double>(run.shape.bytes().value()) / in_rate;
  return static_cast<double>(run.remake->cost.value()) < copies * 1e9;
}

}  // namespace

Result<Bytes> Room::leave(Run& run, Bytes wanted, Patience patience, Which which, Away to) {
  run.coming = false;
  std::uint64_t used, mask;
  {
    // Every use stamped so far has been queued, and is fenced; a call under way that has stamped
    // but not yet queued holds the run.
    const Gate::Closed closed(engine_.gate);
    if (!run.may_leave()) return Bytes();
    used = run.last_work();
    engine_.streams.close(used);  // uses and frees from now on have greater epochs
    mask = run.streams.load();
    TESSERA_TRY(engine_.streams.fence(mask, used));
  }
  if (to == Away::kRegenerated) TESSERA_TRY(engine_.streams.poll());  // no copy waits for the work behind it
  const bool idle = engine_.streams.passed(mask, used);
  if (!idle && patience == Patience::kAhead) return Bytes();
  const bool in_turn = idle || patience != Patience::kPlanned;  // else in a while
  const bool anyhow = to == Away::kRegenerated || which == Which::kWithoutCopy;
  if (may_drop(run, anyhow ? Worth::kAnyhow : Worth::kIfItPays)) {
    return in_turn ? drop(run, mask, used) : Bytes();
  }

  std::vector<PageRef> free_at_once, to_check, to_copy;
  for (std::uint32_t i = run.shape.pages(); wanted && i-- > 0;) {
    const PageRef page{&run, i};
    if (page->state != PageState::kResident) continue;
    const bool free = run.is_dead() || PageMover::is_clean(page);
    (free ? free_at_once : mover_.may_check(page) ? to_check : to_copy).push_back(page);
    wanted -= std::min(wanted, page.bytes());
  }
  if (which == Which::kWithoutCopy) {
    to_check.clear();
    to_copy.clear();
  }
  if (!in_turn) free_at_once.clear();
  Bytes total;
  if (!free_at_once.empty()) {
    if (!idle) {
      const StallWait waiting(engine_.stall, StallCause::kWork);
      TESSERA_TRY(engine_.streams.wait(mask, used));
    }
    run.quiet = std::max(run.quiet, used);
    const Bytes before = engine_.tiers.device.usage().room();
    TESSERA_TRY(mover_.vacate(free_at_once));
    total += engine_.tiers.device.usage().room() - before;
  }
  if (to_check.empty() && to_copy.empty()) return total;
  if (engine_.tiers.is_backed()) {
    const Result<Bytes> swapped = swap_out(to_copy, patience);
    if (swapped.is_ok()) return total + swapped.value();
    if (swapped.status().code() == Code::kOutOfMemory && total) return total;
    return swapped.status();
  }
  TESSERA_TRY(engine_.streams.make_wait(engine_.outbound, mask, used));
  total += transfers_.check(to_check, mask, used);
  to_copy.insert(to_copy.end(), to_check.begin(), to_check.end());
  for (const PageRef& page : to_copy) mover_.plan_fingerprint(page);
  for (std::span<const PageRef> rest = to_copy; !rest.empty();) {
    const auto batch = rest.first(mover_.batch_of(rest));
    for (const PageRef& page : batch) page->users = mask;
    const Result<std::size_t> begun = copy_out(batch, used, patience);
    const bool full = begun.status().code() == Code::kOutOfMemory;
    if (full && total) break;
    if (full && in_turn && may_drop(run, Worth::kAnyhow)) return drop(run, mask, used);
    TESSERA_TRY(begun.status());
    for (const PageRef& page : rest.first(begun.value())) total += page.bytes();
    rest = rest.subspan(begun.value());
  }
  return total;
}

// How many of the first pages have begun to leave. Those for which there is no host frame yet have lost none
// but stale copies. Errors: kBusy by plan, while others make room in the host.
Result<std::size_t> Room::copy_out(std::span<const PageRef> batch, std::uint64_t used, Patience patience) {
  for (;;) {
    transfers_.spare_host_room(total_bytes(batch));
    bool awaited = false;
    TESSERA_TRY_ASSIGN(awaited, host_room_.yield_to(*batch.front().run, batch.front().bytes()));
    if (awaited) {
      if (patience != Patience::kDemand) return Status(Code::kBusy, "others leave host memory first");
      TESSERA_TRY(transfers_.finish(Transfers::Await::kOldest));
      continue;
    }
    for (const PageRef& page : batch) page->copied = used;
    Result<std::size_t> begun = transfers_.copy_out(batch);
    if (begun.status().code() != Code::kOutOfMemory || patience != Patience::kDemand) return begun;
    TESSERA_TRY(host_room_.make(batch.front().bytes()));
  }
}

// All work is waited for, also what did not announce the run, so this is over when it returns.
Result<Bytes> Room::swap_out(std::span<const PageRef> pages, Patience patience) {
  const auto once = [&]() -> Result<Bytes> {
    const Gate::Closed closed(engine_.gate);
    if (!pages.front().run->may_leave()) return Bytes();
    TESSERA_TRY(engine_.await_all_work());
    const StallWait waiting(engine_.stall, StallCause::kCopyOut);
    return mover_.swap_out(pages);
  };
  for (;;) {
    Result<Bytes> out = once();
    if (out.is_ok() || out.status().code() != Code::kOutOfMemory) return out;
    if (patience != Patience::kDemand) return out;
    TESSERA_TRY(host_room_.make(pages.front().bytes()));
  }
}

// Where addresses may be touched unannounced, none may be without its bytes.
bool Room::may_drop(const Run& run, Worth worth) const {
  if (engine_.tiers.is_backed() || !run.can_drop()) return false;
  return worth == Worth::kAnyhow || remake_pays(run, mover_.out_rate(), mover_.in_rate());
}

// Bytes of the device that are free by it.
Result<Bytes> Room::drop(Run& run, std::uint64_t mask, std::uint64_t used) {
  if (!engine_.streams.passed(mask, used)) {
    const StallWait waiting(engine_.stall, StallCause::kWork);
    TESSERA_TRY(engine_.streams.wait(mask, used));
  }
  run.quiet = std::max(run.quiet, used);
  const Bytes before = engine_.tiers.device.usage().room();
  TESSERA_TRY(mover_.drop(run));
  return engine_.tiers.device.usage().room() - before;
}

Status Room::evict(Run& run) {
  for (Bytes before = run.shape.bytes() + Bytes(1);;) {
    if (!run.may_leave()) return Status(Code::kBusy, "the block is pinned or in use");
    while (run.arrives()) {
      TESSERA_TRY(transfers_.finish(Transfers::Await::kOldest));
    }
    TESSERA_TRY(leave(run, run.shape.bytes(), Patience::kDemand).status());
    while (run.going()) {
      TESSERA_TRY(transfers_.finish(Transfers::Await::kLeaving, run.going()));
    }
    const Bytes left = run.bytes_in(PageState::kResident) + run.bytes_in(PageState::kArriving) +
                       run.bytes_in(PageState::kRemaking);
    if (!left) return {};
    if (left >= before) return Status(Code::kBusy, "the block was used while it left");
    before = left;
  }
}

}  // namespace tessera
