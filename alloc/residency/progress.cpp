// What is under way: finishing copies and transfers, and what follows from each.
#include <algorithm>
#include <functional>

#include "base/log.hpp"
#include "residency/residency.hpp"

namespace tessera {
namespace {

// The copy out to wait for so that `bytes` leave, or as many as do. Copies end in their order, so this
// wait is for all before it, and their pages are unmapped together; but a page in a staging frame
// goes on to the file at once, which others may be waiting for. REQUIRES: one is leaving.
PageRef awaited_copy(std::span<const PageRef> moving, Bytes bytes) {
  PageRef awaited;
  for (const PageRef& page : moving) {
    if (!is_going(page->state)) continue;
    awaited = page;
    if (page->staging || page.bytes() >= bytes) break;
    bytes -= page.bytes();
  }
  return awaited;
}

}  // namespace

// What leads to more, once all moves have been looked at.
struct Residency::Ended {
  std::vector<PageRef> vacant;   // their frames may go
  std::vector<PageRef> changed;  // they leave by a copy after all
};

void Residency::started(PageRef page) {
  moving_.push_back(page);
  in_flight_.store(static_cast<std::uint32_t>(moving_.size()));
}

// The page's transfer was finished by someone who waits for it.
void Residency::forget(PageRef page) {
  std::erase_if(moving_, [&](const PageRef& other) {
    return other.run == page.run && other.page == page.page;
  });
  in_flight_.store(static_cast<std::uint32_t>(moving_.size()));
}

// Finishes every move that is done, and what is waited for. Copies of one direction end in the order in
// which they were queued, so behind one that is under way nobody need be asked.
Status Residency::finish_moves(Await await, Bytes bytes) {
  Status result;
  if (moving_.empty() && stranded_.empty()) return result;
  std::vector<PageRef> arrived;
  Ended ended;
  if (await == Await::kLeaving) {
    const PageRef copy = awaited_copy(moving_, bytes);
    await_users(copy);
    const StallWait waiting(stall_, cause_of(copy->state));
    result = mover_.copied_out(copy, true).status();
  }
  // Whether a copy of that direction is known to be under way, or there is none.
  bool coming = !mover_.moving(PageState::kArriving), going = !mover_.going();
  const bool others = mover_.moving(PageState::kSinking) || mover_.moving(PageState::kRising) ||
                      mover_.moving(PageState::kRemaking);
  std::size_t kept = 0, asked = 0;
  for (; asked < moving_.size() && (others || !coming || !going || await == Await::kOldest); ++asked) {
    const PageRef page = moving_[asked];
    const bool leaving = is_going(page->state);
    bool* const under_way = leaving ? &going : page->state == PageState::kArriving ? &coming : nullptr;
    const bool wait = await == Await::kOldest;
    if (wait) await = Await::kNone;
    if (!wait && under_way && *under_way) {
      moving_[kept++] = page;
      continue;
    }
    const Result<bool> done = finish_move(page, wait, ended);
    if (!done.is_ok() && result.is_ok()) result = done.status();
    if (under_way && done.is_ok() && !done.value()) *under_way = true;
    if (done.is_ok() && done.value()) {
      arrived.push_back(page);
    } else {
      moving_[kept++] = page;
    }
  }
  moving_.erase(moving_.begin() + static_cast<std::ptrdiff_t>(kept),
                moving_.begin() + static_cast<std::ptrdiff_t>(asked));
  if (Status status = mover_.vacate(ended.vacant); !status.is_ok() && result.is_ok()) result = status;
  copy_changed(std::move(ended.changed));
  for (const PageRef& page : arrived) move_on(page);
  clear_stranded();
  in_flight_.store(static_cast<std::uint32_t>(moving_.size()));
  return result;
}

// A copy out begins when the work that was queued before it is over: waited for by itself, so that a
// stall says which of the two it was. The copy, which is waited for next, stands behind that work in any
// case, so a failure here is told there.
void Residency::await_users(PageRef page) {
  if (!is_going(page->state) || streams_.passed(page->users, page->as_of())) return;
  const StallWait waiting(stall_, StallCause::kWork);
  if (Status status = streams_.wait(page->users, page->as_of()); !status.is_ok()) {
    log_line(LogLevel::kDebug, "waiting for work: {}", status.to_string());
  }
}

// Whether the page's transfer has ended. A failure of the spill file is dealt with here: the page
// has kept its valid copy, or reports its loss when it is used.
Result<bool> Residency::finish_move(PageRef page, bool wait, Ended& ended) {
  if (wait) await_users(page);
  const StallWait waiting(wait ? stall_ : nullptr, cause_of(page->state));
  switch (page->state) {
    case PageState::kArriving: return mover_.finish_arrival(page, wait);
    case PageState::kLeaving: {
      const Result<bool> done = mover_.copied_out(page, wait);
      if (done.is_ok() && done.value()) {
        page.run->quiet = std::max(page.run->quiet, page->copied);
        ended.vacant.push_back(page);
      }
      return done;
    }
    case PageState::kChecking: {
      const Result<bool> done = mover_.finish_check(page, wait);
      if (done.is_ok() && done.value()) {
        page.run->quiet = std::max(page.run->quiet, page->asked);
        (page->copied == page->asked ? ended.vacant : ended.changed).push_back(page);
      }
      return done;
    }
    case PageState::kRemaking: return mover_.finish_remake(page, wait);
    case PageState::kSinking: return finish_sink(page, wait);
    case PageState::kRising: {
      const Result<bool> done = mover_.finish_rise(page, wait);
      if (done.is_ok()) return done;
      page.run->coming = false;
      log_line(LogLevel::kError, "{}", done.status().to_string());
      return true;
    }
    default: return true;  // validate() would have told
  }
}

// A write that fails costs no bytes; the file tier said it, and asks no more of that file.
Result<bool> Residency::finish_sink(PageRef page, bool wait) {
  const Result<bool> done = mover_.finish_sink(page, wait);
  return done.is_ok() ? done : true;
}

// What comes after a step, for pages nobody waits for.
void Residency::move_on(PageRef page) {
  if (page->state != PageState::kCold) return;
  if (page.run->coming && page.run->may_leave()) go_on(page);
  if (page->state == PageState::kCold && page->staging) stranded_.push_back(page);
}

// Pages in staging frames make way: into the host budget if it has room by now, else to the file.
void Residency::clear_stranded() {
  std::erase_if(stranded_, [this](const PageRef& page) NO_THREAD_SAFETY_ANALYSIS {
    if (page->state != PageState::kCold || !page->staging) return true;
    if (page.run->holds.load() != 0) return false;  // a fetch is about to mount it
    if (mover_.adopt(page)) return true;
    if (page->file) {
      mover_.drop_host_copy(page);
      return true;
    }
    return sink(page).is_ok();
  });
}

Status Residency::sink(PageRef page) {
  if (tiers_.is_backed()) return Status(Code::kOutOfMemory, "no address can have the file behind it");
  if (!tiers_.file.takes_writes()) {
    return Status(Code::kOutOfMemory, "the spill files are not written any more");
  }
  Status status = mover_.sink(page);
  while (status.code() == Code::kOutOfMemory && drop_file_copies(page.bytes())) {
    status = mover_.sink(page);
  }
  if (status.is_ok()) started(page);
  return status;
}

void Residency::advance() {
  MutexLock lock(mutex_);
  take_stock();
}

void Residency::take_stock() {
  if (Status status = finish_moves(Await::kNone); !status.is_ok()) {
    log_line(LogLevel::kDebug, "a move did not finish: {}", status.to_string());
  }
  follow_plan();
  work_ahead();
}

Status Residency::drain() {
  MutexLock lock(mutex_);
  while (!moving_.empty()) TESSERA_TRY(finish_moves(Await::kOldest));
  return {};
}

// Nobody comes back because of what was wanted before: neither by a prefetch nor by a plan's order.
void Residency::call_off(std::span<Run* const> runs) {
  std::vector<const Run*> sent(runs.begin(), runs.end());
  std::ranges::sort(sent, std::less<>());
  std::erase_if(orders_.come, [&](const Conductor::Order& order) {
    return std::ranges::binary_search(sent, order.run, std::less<>());
  });
  for (Run* run : runs) run->coming = false;
}

Status Residency::evict(std::span<Run* const> runs) {
  TESSERA_TRY(account_for_unannounced());
  MutexLock lock(mutex_);
  call_off(runs);
  // All copies are queued before the first is waited for: the link has work while pages are unmapped.
  for (Run* run : runs) {
    TESSERA_TRY(leave(*run, run->shape.bytes(), Patience::kDemand, Which::kAll).status());
  }
  for (Run* run : runs) TESSERA_TRY(evict_run(*run));
  return {};
}

Status Residency::evict_run(Run& run) {
  for (Bytes before = run.shape.bytes() + Bytes(1);;) {
    if (!run.may_leave()) return Status(Code::kBusy, "the block is pinned or in use");
    while (run.arrives()) {
      TESSERA_TRY(finish_moves(Await::kOldest));
    }
    TESSERA_TRY(leave(run, run.shape.bytes(), Patience::kDemand, Which::kAll).status());
    while (run.going()) {
      TESSERA_TRY(finish_moves(Await::kLeaving, run.going()));
    }
    const Bytes left = run.bytes_in(PageState::kResident) + run.bytes_in(PageState::kArriving) +
                       run.bytes_in(PageState::kRemaking);
    if (!left) return {};
    if (left >= before) return Status(Code::kBusy, "the block was used while it left");
    before = left;
  }
}

void Residency::trim() {
  tiers_.device.trim();
  tiers_.host.trim();
}

}  // namespace tessera
