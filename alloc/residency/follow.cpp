// What a plan wants: runs that leave after their use and come back before the next, in time.
#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "residency/residency.hpp"

namespace tessera {
namespace {

Bytes part_of(Bytes whole, std::uint32_t percent) { return whole * percent / 100; }

}  // namespace

// What a plan does not move is not there for it.
Machine Residency::machine() {
  Bytes small;
  for (const auto& run : engine_.runs) {
    if (run->shape.bytes() <= kBasePage && !run->is_dead()) small += run->shape.bytes();
  }
  const Bytes device = tiers_.device.usage().capacity;
  small = std::min(small, device / 2);
  return {.device = device - small, .small = small, .host = tiers_.host.usage().capacity,
          .file = tiers_.file.usage().capacity,
          .out_rate = mover_.out_rate(), .in_rate = mover_.in_rate(),
          .file_write_rate = mover_.file_write_rate(), .file_read_rate = mover_.file_read_rate()};
}

void Residency::lead(Iteration iteration, const Strategy& strategy, Runs players) {
  MutexLock lock(mutex_);
  conductor_.lead(std::move(iteration), strategy, machine(), players, engine_.orders);
}

// Moves under way end as they would. Who was to leave or to come by the old plan may be needed by the new one.
Guide Residency::set_policy(std::unique_ptr<Policy> policy) {
  Guide guide = make_guide(std::move(policy), options_.make_planner);
  MutexLock lock(mutex_);
  engine_.orders = {};
  conductor_.set_policy(*guide.policy, *guide.planner);
  std::swap(guide_, guide);
  follow_plan();
  return guide;
}

void Residency::follow_plan() {
  if (conductor_.wants_plan()) conductor_.ask_for_plan(machine());
  const std::size_t before = engine_.orders.leave.size();
  conductor_.read(engine_.orders, log_.now());
  if (!conductor_.leads()) engine_.orders = {};
  if (!automatic_.load()) engine_.orders.leave.clear();
  if (engine_.orders.leave.size() > before) {  // who cannot leave yet shall not wait for what is queued from now on
    note_given_up(engine_.fence_all());
  }
  carry_out_orders();
}

// At the launch itself: a look some launches later would have copies out wait for the work of those, too.
void Residency::keep_to_plan() {
  if (!mutex_.try_lock()) return;  // whoever has it will look
  take_stock();
  mutex_.unlock();
}

// Who still arrives has work ahead of him: he keeps back those whose work is behind it, or his copy out
// would stand behind theirs. Of those who come, the first that finds no room keeps the others back.
void Residency::carry_out_orders() {
  if (!engine_.orders.leave.empty()) note_given_up(streams_.poll());
  bool kept_back = false;
  std::erase_if(engine_.orders.leave, [&](const Conductor::Order& order) NO_THREAD_SAFETY_ANALYSIS {
    if (order.run->last_work() != order.used) return true;
    kept_back |= order.run->arrives();
    return !kept_back && carry_out(order);
  });
  std::size_t done = 0;
  while (done < engine_.orders.come.size() && bring_back(engine_.orders.come[done])) ++done;
  engine_.orders.come.erase(engine_.orders.come.begin(), engine_.orders.come.begin() + static_cast<std::ptrdiff_t>(done));
}

// True when the order is settled: its copies are under way, or it cannot be followed.
bool Residency::carry_out(const Conductor::Order& order) {
  Run& run = *order.run;
  if (!run.may_leave()) return true;
  const Bytes stays = order.stays();
  const Bytes there = run.bytes_in(PageState::kResident);
  if (there <= stays) return true;
  const Result<Bytes> left = room_.leave(run, there - stays, Room::Patience::kPlanned, order.to);
  if (left.status().code() == Code::kBusy) return false;  // others make room for it
  note_given_up(left.status());
  return !left.is_ok() || run.bytes_in(PageState::kResident) <= stays;
}

// True when all pages of the run are there, on their way, or cannot come: a plan that cannot be followed
// is no error, the page comes when it is used. And then it has: it may have left again since. A page is read from
// the file when there will be room for it, and as often as the run has pages: without room it would go back.
bool Residency::bring_back(Conductor::Order& order) {
  Run& run = *order.run;
  if (run.used.load() != order.used) return true;
  run.coming = true;
  run.called = run.last_work();
  std::vector<PageRef> ready;
  Bytes room = tiers_.device.usage().room(), wanted, host_room = tiers_.host.usage().room();
  bool waits = false;
  for (std::uint32_t i = 0; i < run.shape.pages(); ++i) {
    const PageRef page{&run, i};
    if (page->state != PageState::kCold || (!page->host && order.rises >= run.shape.pages())) continue;
    const bool fits = wanted + page.bytes() <= room;
    if (fits) wanted += page.bytes();
    if (fits && page->host) {
      ready.push_back(page);
    } else if (!page->host && (fits || page.bytes() <= host_room)) {
      if (!fits) host_room -= page.bytes();
      ++order.rises;
      transfers_.try_rise(page);  // and goes on by itself from there
    } else {
      const Result<Bytes> freed = room_.page_out_dead(page.bytes());
      waits = !freed.is_ok() || !freed.value();
      if (waits) break;
      room = tiers_.device.usage().room();
      --i;  // once more
    }
  }
  note_given_up(transfers_.mount(ready));
  return !waits && !std::any_of(run.pages.begin(), run.pages.end(), [](const Page& page) {
    return page.state == PageState::kCold && page.host;
  });
}

// ---- ahead of need ------------------------------------------------------------------------------

void Residency::work_ahead() {
  if (tiers_.is_backed()) return;  // each move would keep the program waiting
  const TierUsage device = tiers_.device.usage();
  if (engine_.stats.run_bytes <= device.capacity) return;  // all fits: nobody has to leave
  const Bytes coming_free = device.capacity - device.used + mover_.going();
  if (!conductor_.leads() && coming_free < part_of(device.capacity, options_.low_percent)) {
    const Bytes want = part_of(device.capacity, options_.high_percent) - coming_free;
    if (const auto left = room_.page_out(want, Room::Patience::kAhead); !left.is_ok()) {
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
