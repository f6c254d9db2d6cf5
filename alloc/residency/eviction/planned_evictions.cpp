#include "residency/eviction/planned_evictions.hpp"

namespace tessera {

// A run with its fetch still in flight blocks the eviction of later runs in this queue; otherwise its own copy-out
// would be queued behind theirs. Where `awaited` has later work on the same stream, the fetch is waited for too.
void PlannedEvictions::start_due(const Run* awaited) {
  bool kept_back = false;
  std::erase_if(engine_.orders.evict, [&](const IterationTracker::Order& order) {
    Run& run = *order.run;
    if (run.last_work() != order.used) return true;
    const bool is_before =
        awaited != nullptr && order.used < awaited->last_work() && (run.users() & awaited->users()) != 0;
    if (is_before && !kept_back) await_fetch(run);
    kept_back |= run.is_fetching();
    return !kept_back && carry_out(order);
  });
}

// True when the order is done: its copies are in flight, or it cannot be followed.
bool PlannedEvictions::carry_out(const IterationTracker::Order& order) {
  Run& run = *order.run;
  if (!run.is_evictable()) return true;
  const Bytes stays = order.stays();
  const Bytes there = run.bytes_in(PageState::kResident);
  if (there <= stays) return true;
  if (order.decided.is_never()) return false;
  const Result<Bytes> left = eviction_.start(run, there - stays, RunEviction::Patience::kPlanned,
                                             RunEviction::Which::kAll, order.to, order.decided);
  if (left.status().code() == Code::kBusy) return false;  // room for it is being made
  note_given_up(left.status());
  return !left.is_ok() || run.bytes_in(PageState::kResident) <= stays;
}

void PlannedEvictions::await_fetch(const Run& run) {
  while (run.is_fetching() && transfers_.any()) {
    if (Status status = transfers_.ends.finish(Transfers::Await::kOldest); !status.is_ok())
      return note_given_up(status);
  }
}

Bytes PlannedEvictions::evict_for(Bytes wanted, std::uint64_t than, VictimChoice::Recency recency) {
  Bytes total;
  std::erase_if(engine_.orders.evict, [&](const IterationTracker::Order& order) {
    Run& run = *order.run;
    if (total >= wanted || run.uses.next <= than || !run.is_evictable() || run.last_work() != order.used) return false;
    if (recency == VictimChoice::Recency::kSettled && !engine_.is_settled(run)) return false;
    await_fetch(run);
    if (run.is_fetching()) return false;
    const Bytes stays = order.stays(), there = run.bytes_in(PageState::kResident);
    if (there <= stays) return false;
    const Result<Bytes> left = eviction_.start(run, there - stays, RunEviction::Patience::kDemand,
                                               RunEviction::Which::kAll, order.to, order.decided);
    note_given_up(left.status());
    if (left.is_ok()) total += left.value();
    return left.is_ok();
  });
  return total;
}

}  // namespace tessera
