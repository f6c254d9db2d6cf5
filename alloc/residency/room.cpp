// Who leaves: making room in device memory and in host memory, on demand and ahead of need.
#include <algorithm>

#include <fmt/format.h>

#include "base/log.hpp"
#include "residency/residency.hpp"

namespace tessera {
namespace {

// After so many choices of victims that others used again, victims are barred from use.
constexpr int kPoliteRounds = 4;
constexpr int kMaxRounds = 64;

Bytes part_of(Bytes whole, std::uint32_t percent) { return whole * percent / 100; }

}  // namespace

// Why there is no room: because of calls under way, which end, or for good. A call that let go while
// room was looked for was in the way too.
Status Residency::no_room(Bytes bytes) const {
  const std::uint32_t own = engine_.turn.is_mine() ? engine_.turn.depth() : 0;
  if (held_uses_.count() > own || held_uses_.ends() != let_go_seen_) {
    return Status(Code::kBusy, "calls under way use device memory");
  }
  const TierUsage host = tiers_.host_usage();
  return Status(Code::kOutOfMemory,
                fmt::format("{} MiB of device memory are needed, {} MiB are free, and nothing else "
                            "can leave: host {} of {} MiB used, file {} of {} MiB used",
                            bytes / 1_MiB, tiers_.device.usage().room() / 1_MiB, host.used / 1_MiB,
                            host.capacity / 1_MiB, tiers_.file.usage().used / 1_MiB,
                            tiers_.file.usage().capacity / 1_MiB));
}

Status Residency::make_room(Bytes bytes) {
  let_go_seen_ = held_uses_.ends();
  TESSERA_TRY(transfers_.finish(Transfers::Await::kNone));
  Bytes room = tiers_.device.usage().room();
  for (int round = 0; room < bytes;) {
    if (round == kMaxRounds) return no_room(bytes);
    const Bytes leaving = mover_.going();
    if (round >= kPoliteRounds && !leaving) {
      ++round;
      TESSERA_TRY(force_out(bytes - room));
    } else if (room + leaving < bytes) {
      ++round;
      Bytes out;
      TESSERA_TRY_ASSIGN(out, page_out(bytes - room - leaving, Patience::kDemand));
      if (!out && !leaving) {  // what arrives now can leave again
        if (!transfers_.any()) return no_room(bytes);
        TESSERA_TRY(transfers_.finish(Transfers::Await::kOldest));
      }
    }
    if (const Bytes there = tiers_.device.usage().room(); there < bytes && mover_.going()) {
      TESSERA_TRY(transfers_.finish(Transfers::Await::kLeaving, bytes - there));
    }
    if (tiers_.device.usage().room() > room) round = 0;  // progress
    room = tiers_.device.usage().room();
  }
  return {};
}

Snapshot Residency::picture(Bytes need, Which which) {
  const Worth worth = which == Which::kWithoutCopy ? Worth::kAnyhow : Worth::kIfItPays;
  Snapshot snapshot{.shortage = Shortage::kDevice, .need = need, .epoch = streams_.epoch()};
  for (const auto& run : engine_.runs) {
    if (!run->has(PageState::kResident) || !run->may_leave()) continue;
    RunPicture picture = engine_.picture_of(*run, snapshot.epoch);
    if (!picture.dead && !automatic_.load()) continue;
    if (which == Which::kIdle && (!picture.idle || run->is_expected())) continue;
    if (which == Which::kDead && !(picture.dead && picture.idle)) continue;
    const bool drops = may_drop(*run, worth);
    for (std::uint32_t i = 0; i < run->shape.pages(); ++i) {
      const PageRef page{run.get(), i};
      if (page->state != PageState::kResident) continue;
      const bool clean = drops || PageMover::is_clean(page);
      if (which == Which::kWithoutCopy && !clean && !picture.dead) continue;
      picture.bytes += page.bytes();
      if (clean) picture.clean += page.bytes();
    }
    if (picture.bytes) snapshot.runs.push_back(picture);
  }
  return snapshot;
}

// Bytes that have left or have begun to. When the tiers below are full, those that leave without a
// copy still can.
Result<Bytes> Residency::page_out(Bytes bytes, Patience patience) {
  TESSERA_TRY(engine_.fence_all());
  TESSERA_TRY(streams_.poll());
  Bytes total;
  bool full = false;
  TESSERA_TRY_ASSIGN(
      total, page_out(bytes, patience, patience == Patience::kAhead ? Which::kIdle : Which::kAll,
                      full));
  if (!full || total >= bytes) return total;
  Bytes more;
  TESSERA_TRY_ASSIGN(more, page_out(bytes - total, patience, Which::kWithoutCopy, full));
  return total + more;
}

// The copies out of the others are queued before anybody waits for the work on dead runs.
Result<Bytes> Residency::page_out(Bytes bytes, Patience patience, Which which, bool& full) {
  const Decision decision = conductor_.decider().decide(picture(bytes, which));
  std::vector<Run*> later;
  Bytes total, promised;
  for (std::size_t index : decision.leave) {
    if (total + promised >= bytes) break;
    Run& run = *engine_.runs[index];
    const bool dead = run.is_dead(), idle = streams_.passed(run.streams.load(), run.last_work());
    const bool strict = conductor_.is_strict() && !(dead && idle);
    if (patience == Patience::kDemand && (strict || !dead)) {
      total += leave_by_plan(bytes - total - promised, strict ? 0 : run.next);
      if (total + promised >= bytes) break;
    }
    if (dead && !idle) {
      later.push_back(&run);
      promised += run.bytes_in(PageState::kResident);
      continue;
    }
    Result<Bytes> left = leave(run, bytes - total - promised, patience, which);
    full = !left.is_ok() && left.status().code() == Code::kOutOfMemory;
    if (full) break;
    if (!left.is_ok()) return left.status();
    total += left.value();
  }
  for (Run* const run : later) {
    if (total >= bytes) break;
    Bytes left;
    TESSERA_TRY_ASSIGN(left, leave(*run, bytes - total, patience, which));
    total += left;
  }
  return total;
}

// So much of the run as is wanted, by whole pages: what is used next may be the rest of it. All of it where it
// is to be remade.
Result<Bytes> Residency::leave(Run& run, Bytes wanted, Patience patience, Which which, Away to) {
  run.coming = false;
  std::uint64_t used, mask;
  {
    // Every use stamped so far has been queued, and is fenced; a call under way that has stamped
    // but not yet queued holds the run.
    const Gate::Closed closed(gate_);
    if (!run.may_leave()) return Bytes();
    used = run.last_work();
    streams_.close(used);  // uses and frees from now on have greater epochs
    mask = run.streams.load();
    TESSERA_TRY(streams_.fence(mask, used));
  }
  if (to == Away::kRegenerated) TESSERA_TRY(streams_.poll());  // no copy waits for the work behind it
  const bool idle = streams_.passed(mask, used);
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
      TESSERA_TRY(streams_.wait(mask, used));
    }
    run.quiet = std::max(run.quiet, used);
    const Bytes before = tiers_.device.usage().room();
    TESSERA_TRY(mover_.vacate(free_at_once));
    total += tiers_.device.usage().room() - before;
  }
  if (to_check.empty() && to_copy.empty()) return total;
  if (tiers_.is_backed()) {
    const Result<Bytes> swapped = swap_out(to_copy, patience);
    if (swapped.is_ok()) return total + swapped.value();
    if (swapped.status().code() == Code::kOutOfMemory && total) return total;
    return swapped.status();
  }
  TESSERA_TRY(streams_.make_wait(outbound_, mask, used));
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
Result<std::size_t> Residency::copy_out(std::span<const PageRef> batch, std::uint64_t used, Patience patience) {
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
Result<Bytes> Residency::swap_out(std::span<const PageRef> pages, Patience patience) {
  const auto once = [&]() NO_THREAD_SAFETY_ANALYSIS -> Result<Bytes> {
    const Gate::Closed closed(gate_);
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

// The victims' next users are kept waiting (a page too many counts as missing, so they come to the
// lock that is held here) until the pages are gone.
Status Residency::force_out(Bytes bytes) {
  TESSERA_TRY(engine_.fence_all());
  TESSERA_TRY(streams_.poll());
  const Decision decision = conductor_.decider().decide(picture(bytes, Which::kAll));
  Bytes out;
  for (std::size_t index : decision.leave) {
    Run& run = *engine_.runs[index];
    run.missing.fetch_add(1);
    const Result<Bytes> left = leave(run, bytes, Patience::kDemand, Which::kAll);
    Status status = left.status();
    while (status.is_ok() && run.going()) {
      status = transfers_.finish(Transfers::Await::kLeaving, run.going());
    }
    run.missing.fetch_sub(1);
    TESSERA_TRY(status);
    out += left.value();
  }
  return out ? Status() : no_room(bytes);
}

// ---- ahead of need ------------------------------------------------------------------------------

void Residency::work_ahead() {
  if (tiers_.is_backed()) return;  // each move would keep the program waiting
  const TierUsage device = tiers_.device.usage();
  if (engine_.stats.run_bytes <= device.capacity) return;  // all fits: nobody has to leave
  const Bytes coming_free = device.capacity - device.used + mover_.going();
  if (!conductor_.leads() && coming_free < part_of(device.capacity, options_.low_percent)) {
    const Bytes want = part_of(device.capacity, options_.high_percent) - coming_free;
    if (const auto left = page_out(want, Patience::kAhead); !left.is_ok()) {
      log_line(LogLevel::kDebug, "paging out ahead: {}", left.status().to_string());
    }
  }
  const TierUsage host = tiers_.host.usage();
  if (mover_.moving(PageState::kSinking) || tiers_.file.usage().used >= tiers_.file.reach()) return;
  if (engine_.stats.run_bytes <= device.capacity + host.capacity) return;
  if (host.capacity - host.used + mover_.candidate_bytes() < part_of(host.capacity, options_.low_percent)) {
    if (const auto sunk = host_room_.sink_coldest(part_of(host.capacity, options_.high_percent));
        !sunk.is_ok()) {
      log_line(LogLevel::kDebug, "sinking ahead: {}", sunk.status().to_string());
    }
  }
}

}  // namespace tessera
