#include "residency/iteration/plan_executor.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/log.hpp"
#include "residency/pages/row.hpp"

namespace tessera {
namespace {

Bytes part_of(Bytes whole, std::uint32_t percent) { return whole * percent / 100; }

// Assumed for a link to the host that is unused so far because a peer had room: PCIe 4. For a file that was hardly used
// so far: a common NVMe disk.
constexpr double kCommonLink = 25e9, kCommonWrite = 1.5e9, kCommonRead = 3e9;

}  // namespace

void PlanExecutor::advance() {
  if (Status status = transfers_.ends.finish(Transfers::Await::kNone); !status.is_ok()) {
    log_line(LogLevel::kDebug, "a move could not be completed: {}", status.to_string());
  }
  follow();
  evict_to_watermarks();
}

// Memory that a plan does not move is not available to it, nor is the page on which small blocks are allocated and
// freed: a plan that counted on it would be short of it permanently.
Machine PlanExecutor::machine() const {
  Bytes small;
  for (const auto& run : engine_.runs) {
    if (run->shape.bytes() <= kBasePage && !run->is_dead()) small += run->shape.bytes();
  }
  const Bytes device = engine_.tiers.device.usage().capacity;
  small = std::min(small, device / 2);
  const Bytes rest = device - small, spare = std::min(kBasePage, rest / 2);
  const double peer_rate = moves_.links.peer_rate();
  const Bytes file = engine_.tiers.file.usage().capacity;
  const auto seen_or_common = [](double rate, double common, bool known) { return rate == 0 && known ? common : rate; };
  return {.device = rest - spare,
          .small = small,
          .host = engine_.tiers.host.usage().capacity,
          .file = file,
          .out_rate = seen_or_common(moves_.links.out_rate(), kCommonLink, peer_rate > 0),
          .in_rate = seen_or_common(moves_.links.in_rate(), kCommonLink, peer_rate > 0),
          .file_write_rate = seen_or_common(moves_.files.write_rate(), kCommonWrite, bool(file)),
          .file_read_rate = seen_or_common(moves_.files.read_rate(), kCommonRead, bool(file)),
          .peer = engine_.tiers.peer == nullptr ? Bytes() : engine_.tiers.peer->usage().capacity,
          .peer_rate = peer_rate,
          .mapping = moves_.mappings.meter().per_page(),
          .copy_turn = moves_.mappings.meter().copy_turn(),
          .unseen = engine_.unseen.load(),
          .grace = engine_.options.grace};
}

void PlanExecutor::activate_plan(Iteration iteration, const Strategy& strategy, Runs players) {
  engine_.tracker.activate_plan(std::move(iteration), strategy, machine(), players, engine_.orders);
}

// Transfers in flight complete normally.
void PlanExecutor::set_policy(const Policy& policy, Planner& planner) {
  engine_.orders = {};
  engine_.tracker.set_policy(policy, planner);
  follow();
}

void PlanExecutor::follow() {
  if (engine_.tracker.wants_plan()) engine_.tracker.ask_for_plan(machine());
  if (engine_.tracker.wants_machine()) engine_.tracker.set_machine(machine());
  engine_.tracker.read(engine_.orders, engine_.log.now());
  if (!engine_.tracker.has_active_plan()) engine_.orders = {};
  if (!engine_.automatic.load()) engine_.orders.evict.clear();
  decide();
  carry_out_orders();
}

// A run is evicted behind the work that is queued when it has settled. It must not wait for work queued after that, so
// a fence is recorded at that moment.
void PlanExecutor::decide() {
  const Epoch now = engine_.streams.epoch();
  bool any = false;
  for (IterationTracker::Order& order : engine_.orders.evict) {
    if (!order.decided.is_never() || !engine_.is_settled(*order.run)) continue;
    order.decided = now;
    any = true;
  }
  if (any) note_given_up(engine_.fence_all());
}

// Of the fetches, the first that finds no room holds back the rest: the room comes from freed runs when their work is
// over, and without a fence here that would be known no sooner than for work queued later.
void PlanExecutor::carry_out_orders() {
  auto& [leave, come] = engine_.orders;
  if (!leave.empty() || !come.empty()) note_given_up(engine_.streams.poll());
  planned_.start_due();
  std::size_t done = 0;
  while (done < come.size() && bring_back(come[done])) ++done;
  come.erase(come.begin(), come.begin() + static_cast<std::ptrdiff_t>(done));
  if (!come.empty()) note_given_up(engine_.fence_all());
  const StreamTable& streams = engine_.streams;
  const bool waits = !come.empty() && !streams.passed(StreamTable::kAllStreams, streams.epoch());
  awaits_room_.store(waits, std::memory_order_relaxed);
}

// True when all pages of the run are present, in transfer, or cannot be fetched: a planned move that fails is made on
// demand at the use. A page is read from the file when there will be room for it, and at most as many times as the run
// has pages: without room it would be spilled again.
bool PlanExecutor::bring_back(IterationTracker::Order& order) {
  Run& run = *order.run;
  if (run.used.load() != order.used) return true;
  const std::vector<PageRef> pages = pages_of(run);
  for (Run* const part : with_parts({&order.run, 1})) {
    part->prefetch.requested = true;
    part->prefetch.as_of = part->last_work();
  }
  std::vector<PageRef> ready;
  Bytes room = engine_.tiers.device.room(), wanted, host_evictor = engine_.tiers.host.usage().room();
  bool waits = false;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const PageRef page = pages[i];
    if (page->state != PageState::kCold || (!page->is_near() && order.loads >= run.shape.pages())) continue;
    const bool fits = wanted + page.bytes() <= room;
    if (fits) wanted += page.bytes();
    if (fits && page->is_near()) {
      ready.push_back(page);
    } else if (!page->is_near() && (fits || page.bytes() <= host_evictor)) {
      if (!fits) host_evictor -= page.bytes();
      ++order.loads;
      transfers_.starts.try_rise(page);  // continues to the device by itself
    } else {
      const Result<Bytes> freed = device_evictor_.page_out_dead(page.bytes());
      waits = !freed.is_ok() || !freed.value();
      if (waits) break;
      room = engine_.tiers.device.room();
      --i;  // retry this page
    }
  }
  note_given_up(transfers_.starts.mount(ready, Transfers::Mapped::kOnArrival));
  return !waits && std::ranges::none_of(
                       pages, [](const PageRef& page) { return page->state == PageState::kCold && page->is_near(); });
}

void PlanExecutor::cancel_fetches(Runs runs) {
  std::vector<const Run*> sent(runs.begin(), runs.end());
  for (const Run* run : runs) sent.push_back(&run->whole());
  std::ranges::sort(sent, std::less<>());
  std::erase_if(engine_.orders.fetch, [&](const IterationTracker::Order& order) {
    return std::ranges::binary_search(sent, order.run, std::less<>());
  });
  for (Run* run : with_parts(runs)) run->prefetch.requested = false;
}

void PlanExecutor::cancel_evictions() { engine_.orders.evict.clear(); }

void PlanExecutor::forget(const Run& run) {
  engine_.tracker.forget(run);
  for (auto* orders : {&engine_.orders.evict, &engine_.orders.fetch}) {
    std::erase_if(*orders, [&run](const IterationTracker::Order& order) { return order.run == &run; });
  }
}

// ---- ahead of need ------------------------------------------------------------------------------

// For free device memory: the configured watermarks, and where work may be unannounced what evictions on demand take
// meanwhile. A plan with moves makes its own room.
PlanExecutor::Watermarks PlanExecutor::watermarks(Bytes capacity) const {
  Watermarks marks;
  if (!engine_.tracker.has_active_plan()) {
    marks = {part_of(capacity, engine_.options.low_percent), part_of(capacity, engine_.options.high_percent)};
  }
  if (!engine_.unseen.load() || engine_.tracker.moves()) return marks;
  const Bytes spare = engine_.spare.low(capacity, engine_.log.now());
  return spare > marks.low ? Watermarks{spare, std::max(marks.high, spare * 2)} : marks;
}

void PlanExecutor::evict_to_watermarks() {
  if (engine_.tiers.is_backed()) return;  // each move would stall the program
  const TierUsage device = engine_.tiers.device.usage();
  if (engine_.stats.run_bytes <= device.capacity) return;  // everything fits: no eviction is needed
  const Bytes coming_free = device.capacity - device.used + moves_.ledger.evicting_bytes();
  const auto [low, high] = watermarks(device.capacity);
  if (coming_free < low) {
    const Bytes want = high - coming_free;
    if (const auto left = device_evictor_.page_out(want, DeviceEvictor::Patience::kAhead); !left.is_ok()) {
      log_line(LogLevel::kDebug, "eviction ahead of need stopped: {}", left.status().to_string());
    }
  }
  const TierUsage host = engine_.tiers.host.usage();
  if (engine_.stats.run_bytes <= device.capacity + host.capacity) return;
  if (moves_.ledger.moving(PageState::kSpilling) || engine_.tiers.file.usage().used >= engine_.tiers.file.reach())
    return;
  if (host.capacity - host.used + moves_.copies.candidate_bytes() <
      part_of(host.capacity, engine_.options.low_percent)) {
    if (const auto sunk = host_evictor_.spill_coldest(part_of(host.capacity, engine_.options.high_percent));
        !sunk.is_ok()) {
      log_line(LogLevel::kDebug, "sinking ahead: {}", sunk.status().to_string());
    }
  }
}

}  // namespace tessera
