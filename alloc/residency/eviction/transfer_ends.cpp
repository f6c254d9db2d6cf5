#include "residency/eviction/transfer_ends.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "base/log.hpp"

namespace tessera {
namespace {

// The copy out to wait for so that `bytes`, or as many as possible, become free. Copies over one link complete in
// order, so this waits for all before it, and their pages are unmapped together. But a page in a staging frame goes on
// to the file at once, since others may be waiting for the frame. None where nothing is being evicted.
PageRef awaited_copy(std::span<const PageRef> moving, Bytes bytes) {
  PageRef awaited;
  for (const PageRef& page : moving) {
    if (!is_evicting(page->state)) continue;
    awaited = page;
    if (page->copy.staging || page.bytes() >= bytes) break;
    bytes -= page.bytes();
  }
  return awaited;
}

}  // namespace

// What to do once all transfers have been polled.
struct TransferEnds::Ended {
  std::vector<PageRef> vacant;   // their device frames can be freed
  std::vector<PageRef> changed;  // they need a copy after all
  std::vector<PageRef> landed;   // their bytes are in frames that are not mapped yet
};

// Copies in one direction over one link complete in the order in which they were queued, so nothing behind one in
// flight has to be polled.
Status TransferEnds::finish(Await await, Bytes bytes) {
  if (!in_flight_.any() && !onward_.any()) return {};
  Status result = await_parting(await, bytes);
  std::vector<PageRef> arrived;
  Ended ended;
  // Where pages wait for their turn to be copied, the first copy that ends lets them begin.
  const Bytes awaited = in_flight_.parting().empty() ? bytes : std::min(bytes, kBasePage);
  const PageRef copy = await == Await::kEvicting ? awaited_copy(in_flight_.moving(), awaited) : PageRef();
  if (copy.run != nullptr) {
    Status ready = await_link(copy);
    const StallWait waiting(engine_.stall, cause_of(copy->state));
    note_error(result, ready.is_ok() ? moves_.links.is_done(copy, true).status() : std::move(ready));
  }
  // The lanes to look at: those on which no copy in that direction is known to be in flight.
  LaneSet coming = moves_.ledger.arriving_bytes() ? engine_.lanes.all() : LaneSet();
  LaneSet going = moves_.ledger.copying_out() ? engine_.lanes.all() : LaneSet();
  const bool others = moves_.ledger.moving(PageState::kSpilling) || moves_.ledger.moving(PageState::kLoading) ||
                      moves_.ledger.moving(PageState::kRecomputing);
  std::size_t open = coming.count() + going.count();
  const auto go_on = [&] { return others || open != 0 || await == Await::kOldest; };
  in_flight_.remove_moving_if(go_on, [&](const PageRef page) {
    const bool leaving = is_evicting(page->state);
    LaneSet* const way = leaving ? &going : is_arriving(page->state) ? &coming : nullptr;
    const std::size_t lane = page->lane();  // of its copy, before that is over
    const bool wait = await == Await::kOldest;
    if (wait) await = Await::kNone;
    if (!wait && way != nullptr && !way->test(lane)) return false;
    const Result<bool> done = finish_one(page, wait, ended);
    if (!done.is_ok() && result.is_ok()) result = done.status();
    if (way != nullptr && done.is_ok() && !done.value() && way->test(lane)) {
      way->reset(lane);
      --open;
    }
    if (!done.is_ok() || !done.value()) return false;
    arrived.push_back(page);
    return true;
  });
  const Status vacated = moves_.mover.vacate(ended.vacant, PageMover::Proof::kBytes);
  std::erase_if(ended.vacant, [](const PageRef& page) { return page->state != PageState::kEvicting; });
  in_flight_.put_back(ended.vacant);  // a launch does not return
  note_error(result, vacated);
  checks_.copy_changed(std::move(ended.changed));
  if (const Status landed = moves_.arrivals.land(ended.landed); !landed.is_ok()) {
    log_line(LogLevel::kDebug, "a prefetch was abandoned: {}", landed.to_string());
  }
  for (const PageRef& page : arrived) onward_.move_on(page);
  onward_.clear_stranded();
  return result;
}

// On return, the transfers to be waited for have been started.
Status TransferEnds::await_parting(Await await, Bytes bytes) {
  if (await == Await::kEvicting) return parted_.await_copies(bytes);
  const bool none_moves = in_flight_.moving().empty() && !in_flight_.parting().empty();
  if (await == Await::kOldest && none_moves) return parted_.await_oldest();
  return parted_.go_apart();
}

Status TransferEnds::finish_all() {
  while (in_flight_.any()) TESSERA_TRY(finish(Await::kOldest));
  return {};
}

// A copy out begins when the work queued before it is over. That work is waited for separately, so that a stall names
// the right cause, and because the work may wait for the program, and so for this call. Errors: kNotReady in that case.
// The copy is waited for next and is queued behind that work, so any other failure here is reported there.
Status TransferEnds::await_users(PageRef page) {
  if (!is_evicting(page->state) || engine_.streams.passed(page->eviction.users, page->as_of())) return {};
  const StallWait waiting(engine_.stall, StallCause::kWork);
  Status status = engine_.waits.wait(page->eviction.users, page->as_of(), StreamWaits::Bound::kPatience);
  if (status.code() == Code::kNotReady) return status;
  if (!status.is_ok()) log_line(LogLevel::kDebug, "waiting for work: {}", status.to_string());
  return {};
}

// Also waits for the work before earlier copies on its link, and for the work that recomputes the page.
Status TransferEnds::await_link(PageRef page) {
  if (page->state == PageState::kRecomputing) {
    const StallWait waiting(engine_.stall, cause_of(page->state));
    const Status made = engine_.driver.synchronize(page->transfer.event, engine_.options.patience);
    if (made.code() == Code::kNotReady) return Status(Code::kNotReady, "work that recomputes a block has not ended");
  }
  if (!is_evicting(page->state)) return {};
  for (const PageRef& before : in_flight_.moving()) {
    if (before.run == page.run && before.page == page.page) break;
    TESSERA_TRY(await_users(before));
  }
  return await_users(page);
}

Status TransferEnds::await_way_out(Run& run) {
  for (std::uint32_t i = 0; run.evicting_bytes() && i < run.shape.pages(); ++i) {
    const PageRef page{&run, i};
    if (page->state != PageState::kParting) TESSERA_TRY(await_link(page));
  }
  return {};
}

// Whether the page's transfer has ended. Failures of the spill file are handled here: the page has kept its valid copy,
// or reports its loss when it is used.
Result<bool> TransferEnds::finish_one(PageRef page, bool wait, Ended& ended) {
  if (wait) TESSERA_TRY(await_link(page));
  const StallWait waiting(wait ? engine_.stall : nullptr, cause_of(page->state));
  switch (page->state) {
    case PageState::kFetching: return moves_.mover.finish_fetch(page, wait);
    case PageState::kApartFetching: {
      const Result<bool> done = moves_.links.is_done(page, wait);
      if (done.is_ok() && done.value()) ended.landed.push_back(page);
      return done;
    }
    case PageState::kEvicting: {
      const Result<bool> done = moves_.links.is_done(page, wait);
      if (done.is_ok() && done.value()) {
        page.run->quiet = std::max(page.run->quiet, page->copy.epoch);
        ended.vacant.push_back(page);
      }
      return done;
    }
    case PageState::kChecking: {
      const bool recalled = page->eviction.recalled;
      const Result<bool> done = moves_.checks.finish(page, wait);
      if (done.is_ok() && done.value() && !recalled) {
        page.run->quiet = std::max(page.run->quiet, page->eviction.asked);
        (page->is_unchanged() ? ended.vacant : ended.changed).push_back(page);
      }
      return done;
    }
    case PageState::kApartEvicting: {
      const Result<bool> done = moves_.links.is_done(page, wait);
      if (!done.is_ok() || !done.value()) return done;
      engine_.spare.note_copy(engine_.log.now() - page->transfer.started);
      TESSERA_TRY(moves_.partings.evict(page));
      return done;
    }
    case PageState::kApartChecking: {
      const Result<bool> done = moves_.checks.finish(page, wait);
      if (!done.is_ok() || !done.value()) return done;
      const bool leaves = page->is_unchanged() || page.run->is_dead();
      if (leaves) TESSERA_TRY(moves_.partings.evict(page));
      if (!leaves) ended.changed.push_back(page);
      return done;
    }
    case PageState::kRecomputing: return moves_.recomputes.finish(page, wait);
    case PageState::kSpilling: return finish_spill(page, wait);
    case PageState::kLoading: {
      const Result<bool> done = moves_.files.finish_load(page, wait);
      if (done.is_ok()) return done;
      page.run->prefetch.requested = false;
      log_line(LogLevel::kError, "{}", done.status().to_string());
      return true;
    }
    default: return true;  // not possible in a valid state, see validate()
  }
}

// A failed write loses no bytes; the file tier logs it and writes no more to that file.
Result<bool> TransferEnds::finish_spill(PageRef page, bool wait) {
  const Result<bool> done = moves_.files.finish_spill(page, wait);
  return done.is_ok() ? done : true;
}

// ---- waiting ------------------------------------------------------------------------------------

Status TransferEnds::settle(PageRef page) {
  if (!is_moving(page->state)) return {};
  Status status = await_move(page);
  if (status.is_ok() || !is_moving(page->state)) in_flight_.remove(page);
  return status;
}

Result<bool> TransferEnds::has_risen(PageRef page) {
  const Result<bool> done = moves_.files.finish_load(page, false);
  if (!done.is_ok() || done.value()) in_flight_.remove(page);
  return done;
}

// As settle(), but the page stays listed: with many of them, each removal would search the whole list.
Status TransferEnds::await_move(PageRef page) {
  if (page->state != PageState::kParting) TESSERA_TRY(await_link(page));
  const StallWait waiting(engine_.stall, cause_of(page->state));
  Result<bool> done = true;
  switch (page->state) {
    case PageState::kFetching: done = moves_.mover.finish_fetch(page, true); break;
    case PageState::kApartFetching:
      TESSERA_TRY(moves_.links.is_done(page, true).status());
      return moves_.arrivals.land({&page, 1});
    case PageState::kEvicting: done = moves_.links.is_done(page, true); break;
    case PageState::kChecking:
    case PageState::kApartChecking: done = moves_.checks.finish(page, true); break;
    case PageState::kApartEvicting:
      TESSERA_TRY(moves_.links.is_done(page, true).status());
      return moves_.partings.evict(page);
    case PageState::kParting: return moves_.releases.stay(page);
    case PageState::kRecomputing: done = moves_.recomputes.finish(page, true); break;
    case PageState::kSpilling: done = finish_spill(page, true); break;
    case PageState::kLoading: done = moves_.files.finish_load(page, true); break;
    default: return {};
  }
  return done.status();
}

// The copies of a link run in order on its inbound stream, so the event of the last page among these runs stands for
// all of them. Waiting for the newest copy of the link would include copies that a plan has queued for later. Pages
// being recomputed have events of their own.
Status TransferEnds::await_arrivals(Runs runs, StreamId stream) {
  std::vector<PageRef> arriving;  // only those that the caller waits for
  LaneSet copies;
  for (Run* run : runs) {
    for (std::uint32_t i = 0; i < run->shape.pages(); ++i) {
      const PageRef page{run, i};
      const bool recomputes = page->state == PageState::kRecomputing;
      if (!recomputes && !is_arriving(page->state)) continue;
      if (stream == kNoStream) {
        arriving.push_back(page);
      } else if (recomputes) {
        TESSERA_TRY(engine_.driver.wait_event(stream, page->transfer.event));
      } else {
        copies.set(page->lane());
      }
    }
  }
  if (stream == kNoStream) return await_all(arriving);
  const std::span<const PageRef> moving = in_flight_.moving();
  for (auto page = moving.rbegin(); page != moving.rend() && copies.any(); ++page) {
    const std::size_t lane = (*page)->lane();
    if (!copies.test(lane) || (*page)->state != PageState::kFetching ||
        std::ranges::find(runs, page->run) == runs.end())
      continue;
    TESSERA_TRY(engine_.driver.wait_event(stream, (*page)->transfer.event));
    copies.reset(lane);
  }
  DCHECK(copies.none());  // all arriving pages are listed
  return {};
}

Status TransferEnds::await_all(std::span<const PageRef> arriving) {
  Status status;
  for (auto page = arriving.begin(); page != arriving.end() && status.is_ok(); ++page) {
    status = await_move(*page);
  }
  in_flight_.remove_settled();
  return status;
}

}  // namespace tessera
