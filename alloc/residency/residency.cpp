#include "residency/residency.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/log.hpp"
#include "residency/pages/row.hpp"

namespace tessera {
namespace {

// What pins leave to launches.
constexpr std::uint64_t kLeastPartBesidePins = 32, kMostPartBesidePins = 16;  // of the device
constexpr Bytes kMostBesidePins{512 << 20};

}  // namespace

Result<std::unique_ptr<Residency>> Residency::create(Driver& driver, DeviceId device, TierStack tiers,
                                                     std::unique_ptr<Policy> policy, EventLog& log,
                                                     ResidencyOptions options) {
  std::unique_ptr<CopyLanes> lanes;
  TESSERA_TRY_ASSIGN(lanes, CopyLanes::create(driver, device, tiers.peer != nullptr));
  tiers.host.add_reserve(device);
  return std::unique_ptr<Residency>(
      new Residency(driver, device, tiers, std::move(policy), log, std::move(options), std::move(lanes)));
}

Residency::Residency(Driver& driver, DeviceId device, TierStack tiers, std::unique_ptr<Policy> policy, EventLog& log,
                     ResidencyOptions options, std::unique_ptr<CopyLanes> lanes)
    : driver_(driver),
      device_(device),
      tiers_(tiers),
      guide_(make_guide(std::move(policy), options.make_planner)),
      log_(log),
      options_(std::move(options)),
      lanes_(std::move(lanes)),
      streams_(driver, device, options_.patience, options_.queue_depth),
      tracker_(driver, device, *guide_.policy, *guide_.planner, engine_.runs, options_.class_of_tag),
      gate_(options_.patience),
      engine_{.driver = driver,
              .device = device,
              .tiers = tiers,
              .log = log,
              .options = options_,
              .lanes = *lanes_,
              .streams = streams_,
              .tracker = tracker_,
              .gate = gate_,
              .held_uses = held_uses_,
              .automatic = automatic_,
              .unseen = unseen_,
              .waiting = waiting_},
      moves_({.driver = driver,
              .device = device,
              .tiers = tiers,
              .lanes = *lanes_,
              .gate = gate_,
              .log = log,
              .stats = engine_.stats,
              .unseen = unseen_},
             engine_.by_trait, options_.fingerprints),
      transfers_(engine_, moves_, in_flight_),
      host_evictor_(engine_, moves_, transfers_),
      device_evictor_(engine_, moves_, transfers_, host_evictor_),
      fetcher_(engine_, transfers_, host_evictor_, device_evictor_),
      executor_(engine_, moves_, transfers_, host_evictor_, device_evictor_, awaits_room_),
      rows_(engine_, moves_, transfers_) {
  // Planned moves run beside the program's work, which host-backed pages must not.
  if (tiers_.is_backed()) tracker_.stop_logging();
}

Residency::~Residency() {
  while (true) {
    Run* run = nullptr;
    {
      MutexLock lock(mutex_);
      if (!engine_.runs.empty()) run = engine_.runs.back().get();
      if (run != nullptr && !run->whole().is_range) run = &run->whole();
    }
    if (run == nullptr) break;
    const Status status = remove(run);
    if (status.is_ok()) continue;
    log_line(LogLevel::kDebug, "a run could not be released at shutdown: {}", status.to_string());
    if (status.code() == Code::kBusy) break;  // a call has not ended; what it holds is leaked
  }
}

// ---- runs ---------------------------------------------------------------------------------------

Result<Run*> Residency::add(Address address, RunShape shape, TagId tag, RunOwner owner) {
  auto run = std::make_unique<Run>(address, shape, tag, owner);
  MutexLock lock(mutex_);
  Bytes heap = tiers_.capacity();
  if (engine_.stats.run_bytes + shape.bytes() > heap) {
    tiers_.device.regain(DeviceTier::Ask::kNow);
    tiers_.host.reclaim();
    heap = tiers_.capacity();
  }
  if (engine_.stats.run_bytes + shape.bytes() > heap) {
    return Status(Code::kOutOfMemory,
                  fmt::format("{} MiB more do not fit: all tiers hold {} MiB, of which {} MiB are taken",
                              shape.bytes() / 1_MiB, heap / 1_MiB, engine_.stats.run_bytes / 1_MiB));
  }
  engine_.stats.run_bytes += shape.bytes();
  const bool fits = engine_.stats.run_bytes <= tiers_.device.usage().capacity;
  if (!fits && !tiers_.is_backed()) tracker_.note_shortage();
  run->index = engine_.runs.size();
  engine_.runs.push_back(std::move(run));
  return engine_.runs.back().get();
}

void Residency::disown(Run* run) {
  MutexLock lock(mutex_);
  run->owner = {};
  for (Run* part : run->parts) {
    part->live.store(run->live.load());
    part->owner = {};
  }
}

Status Residency::remove(Run* run) {
  MutexLock lock(mutex_);
  const std::vector<Run*> parts = with_parts({&run, 1});
  // Calls that hold its range use other runs there.
  const auto is_held = [run](const Run* part) { return part->holds.load() != 0 || run->holds.load() != 0; };
  if (std::ranges::any_of(parts, is_held)) return Status(Code::kBusy, "a call in progress uses the block");
  // A caller that found the run before it was removed from the page map has noted its launch by now.
  const Status fenced = engine_.fence_all();
  Status result;
  for (Run* part : parts) {
    if (result.is_ok()) result = await_uses(*part, fenced);
    if (result.is_ok()) result = transfers_.await_way_out(*part);
  }
  if (result.code() == Code::kNotReady) return Status(Code::kBusy, std::string(result.message()));
  TESSERA_TRY(rows_.leave_range(*run));
  executor_.follow();
  executor_.forget(*run);
  run->live.store(0);
  run->owner = {};
  if (run->pins.exchange(0) != 0) engine_.pinned_bytes -= run->shape.bytes();
  engine_.stats.costliest.offer({run->address, run->shape.bytes(), run->tag, true, run->cost});
  engine_.stats.run_bytes -= run->shape.bytes();
  for (Run* part : parts) {
    if (part != run) executor_.forget(*part);
    const Status unfinished = await_unfinished(*part);
    if (result.is_ok()) result = unfinished;
    const Status removed = rows_.remove(*part);
    if (result.is_ok()) result = removed;
  }
  std::erase_if(engine_.rows, [run](const auto& row) { return row.get() == run; });
  return result;
}

Result<std::unique_ptr<const Extents>> Residency::set_extents(Run* run, std::optional<Extents> extents) {
  MutexLock lock(mutex_);
  if (extents) names_parts_.store(true);
  return rows_.set_extents(*run, std::move(extents));
}

void Residency::expect_parts(Run* run) {
  MutexLock lock(mutex_);
  if (rows_.can_be_row(*run)) rows_.make(*run);
}

Status Residency::await_uses(const Run& run, const Status& fenced) {
  const Status status = fenced.is_ok() ? streams_.wait(run.users(), run.last_work()) : fenced;
  if (status.is_ok() || status.code() == Code::kNotReady) return status;
  return await_device();
}

Status Residency::await_device() {
  const Nanoseconds limit = options_.patience * StreamTable::kWholePatience;
  const Status over = driver_.synchronize(device_, limit);
  if (over.code() != Code::kNotReady) return over;
  return Status(Code::kNotReady,
                fmt::format("work on the device has not ended within {} s: a kernel may be waiting for "
                            "the program or for another kernel",
                            limit.value() / 1'000'000'000));
}

// ---- hints --------------------------------------------------------------------------------------

Status Residency::pin(Run* run, const char* exposed_by, const Held& held) {
  {
    MutexLock lock(mutex_);
    TESSERA_TRY(check_room_beside_pins(*run, room_beside_pins()));
  }
  TESSERA_TRY(fetch_and_hold({&run, 1}, kNoStream, held));
  MutexLock lock(mutex_);
  const Status fits = check_room_beside_pins(*run, room_beside_pins());  // another thread may have pinned meanwhile
  if (fits.is_ok()) {
    const bool exposes = exposed_by != nullptr && run->exposed == nullptr;
    if ((exposed_by == nullptr || exposes) && run->pins.fetch_add(1) == 0) {
      engine_.pinned_bytes += run->shape.bytes();
    }
    if (exposes) run->exposed = exposed_by;
  }
  held_uses_.let_go({&run, 1});
  return fits;
}

// While the run could not be evicted, work may have used it unannounced, and may go on to do so: copies in lower tiers
// are invalid.
void Residency::note_unseen_use(Run& run) {
  const std::uint64_t epoch = streams_.tick();
  raise_to(run.used, epoch);
  raise_to(run.written, epoch);
}

Status Residency::unpin(Run* run) {
  MutexLock lock(mutex_);
  const std::uint32_t own = (run->exposed != nullptr ? 1 : 0) + (run->keeps != 0 ? 1 : 0);
  if (run->pins.load() <= own) return Status(Code::kInvalidArgument, "the block is not pinned");
  if (unseen_.load()) note_unseen_use(*run);
  if (run->pins.fetch_sub(1) == 1) engine_.pinned_bytes -= run->shape.bytes();
  return {};
}

// A pin that the program wants, or cannot do without, leaves little, as launches may use mostly pinned blocks; and
// nothing where all blocks fit together.
Bytes Residency::room_beside_pins() const {
  const Bytes device = tiers_.device.usage().capacity;
  if (engine_.stats.run_bytes <= device) return {};
  const Bytes least = std::max(kBasePage, std::min(device / kLeastPartBesidePins, kMostBesidePins));
  return std::max(least, std::min(tracker_.largest_launch().bytes, device / kMostPartBesidePins));
}

// Pins for addresses that no call announces leave the largest launch so far, but at most half of the device, since a
// larger launch may itself have used what is pinned now.
Bytes Residency::room_beside_kept() const {
  return std::min(tracker_.largest_launch().bytes, tiers_.device.usage().capacity / 2);
}

Status Residency::check_room_beside_pins(const Run& run, Bytes launches) const {
  const Bytes device = tiers_.device.usage().capacity;
  if (run.pins.load() != 0 || engine_.pinned_bytes + run.shape.bytes() + launches <= device) return {};
  return Status(
      Code::kOutOfMemory,
      fmt::format("of {} MiB of device memory, {} MiB are pinned and launches need {} MiB: another {} MiB cannot "
                  "be pinned",
                  device / 1_MiB, engine_.pinned_bytes / 1_MiB, launches / 1_MiB, run.shape.bytes() / 1_MiB));
}

Status Residency::keep(Run* run, const char* reason, const Held& held) {
  {
    MutexLock lock(mutex_);
    TESSERA_TRY(check_room_beside_pins(*run, room_beside_kept()));
  }
  TESSERA_TRY(fetch_and_hold({&run, 1}, kNoStream, held));
  MutexLock lock(mutex_);
  const Status fits = check_room_beside_pins(*run, room_beside_kept());  // another thread may have pinned meanwhile
  if (fits.is_ok()) {
    if (run->keeps++ == 0) {
      if (run->pins.fetch_add(1) == 0) engine_.pinned_bytes += run->shape.bytes();
      run->kept_for = reason;
    }
  }
  held_uses_.let_go({&run, 1});
  return fits;
}

Status Residency::unkeep(Run* run) {
  MutexLock lock(mutex_);
  if (run->keeps == 0) return Status(Code::kInvalidArgument, "the block is not kept");
  if (--run->keeps != 0) return {};
  run->kept_for = nullptr;
  note_unseen_use(*run);
  if (run->pins.fetch_sub(1) == 1) engine_.pinned_bytes -= run->shape.bytes();
  return {};
}

Status Residency::place(Run* run, std::span<const Places> places) {
  MutexLock lock(mutex_);
  return transfers_.place(*run, places);
}

Status Residency::prefetch(std::span<Run* const> runs) {
  MutexLock lock(mutex_);
  return fetcher_.prefetch(runs);
}

Status Residency::evict(std::span<Run* const> runs) {
  TESSERA_TRY(account_for_unannounced());
  MutexLock lock(mutex_);
  executor_.cancel_fetches(runs);
  // All copies are queued before the first wait: the link is busy while pages are unmapped.
  for (Run* run : runs) {
    TESSERA_TRY(device_evictor_.start_eviction(*run, run->shape.bytes(), DeviceEvictor::Patience::kDemand).status());
  }
  for (Run* run : runs) TESSERA_TRY(device_evictor_.evict(*run));
  return {};
}

void Residency::activate_plan(Iteration iteration, const Strategy& strategy, Runs players) {
  MutexLock lock(mutex_);
  executor_.activate_plan(std::move(iteration), strategy, players);
}

Guide Residency::set_policy(std::unique_ptr<Policy> policy) {
  Guide guide = make_guide(std::move(policy), options_.make_planner);
  MutexLock lock(mutex_);
  executor_.set_policy(*guide.policy, *guide.planner);
  std::swap(guide_, guide);
  return guide;
}

// ---- progress -----------------------------------------------------------------------------------

void Residency::advance() {
  MutexLock lock(mutex_);
  executor_.advance();
}

// At the launch itself: some launches later, copies out would wait for the work of those launches too.
void Residency::keep_to_plan() {
  if (!mutex_.try_lock()) return;  // the holder of the lock will look
  executor_.advance();
  mutex_.unlock();
}

Status Residency::drain() {
  MutexLock lock(mutex_);
  return transfers_.finish_all();
}

void Residency::prepare_checks() {
  MutexLock lock(mutex_);
  moves_.fingerprints.prepare();
}

void Residency::trim() {
  tiers_.device.trim();
  if (tiers_.peer != nullptr) tiers_.peer->trim();
  tiers_.host.trim();
}

// ---- inspection ---------------------------------------------------------------------------------

ResidencyStats Residency::stats() const {
  MutexLock lock(mutex_);
  ResidencyStats stats = engine_.stats;
  const UseCounts::Sum counts = counts_.sum();
  stats.launches = counts.launches;
  stats.uses = counts.uses;
  stats.pinned_bytes = engine_.pinned_bytes;
  for (const auto& run : engine_.runs) {
    if (run->stays_for() != nullptr) stats.exposed_bytes += run->shape.bytes();
    stats.costliest.offer({run->address, run->shape.bytes(), run->tag, false, run->cost});
  }
  for (const auto& row : engine_.rows) {
    stats.costliest.offer({row->address, row->shape.bytes(), row->tag, false, row->cost});
  }
  return stats;
}

Bytes Residency::pinned_bytes() const {
  MutexLock lock(mutex_);
  return engine_.pinned_bytes;
}

Bytes Residency::live_bytes() const {
  MutexLock lock(mutex_);
  Bytes bytes;
  for (const auto& run : engine_.runs) {
    if (!run->is_dead()) bytes += run->shape.bytes();
  }
  return bytes;
}

std::vector<std::pair<const char*, Bytes>> Residency::exposures() const {
  MutexLock lock(mutex_);
  std::vector<std::pair<const char*, Bytes>> sums;
  for (const auto& run : engine_.runs) {
    if (run->stays_for() == nullptr) continue;
    auto sum = std::find_if(sums.begin(), sums.end(),
                            [&](const auto& s) { return std::string_view(s.first) == run->stays_for(); });
    if (sum == sums.end()) sum = sums.insert(sums.end(), {run->stays_for(), Bytes()});
    sum->second += run->shape.bytes();
  }
  return sums;
}

std::array<Bytes, kPlaces> Residency::whereabouts(const Run& run) const {
  MutexLock lock(mutex_);
  std::array<Bytes, kPlaces> bytes;
  const auto count = [&bytes](const Page& page, Bytes size) {
    if (page.device) {
      bytes[0] += size;
    } else if (page.peer) {
      bytes[1] += size;
    } else if (page.host) {
      bytes[2] += size;
    } else if (page.file) {
      bytes[3] += size;
    }
  };
  const auto count_all = [&count](const Run& part) {
    for (std::uint32_t i = 0; i < part.pages.size(); ++i) count(part.pages[i], page_bytes(part.shape.page_class(i)));
  };
  count_all(run);
  for (const Run* part : run.parts) count_all(*part);
  return bytes;
}

Status Residency::validate() const {
  MutexLock lock(mutex_);
  Bytes run_bytes, pinned_bytes, device_bytes;
  for (const auto& run : engine_.runs) {
    TESSERA_TRY(validate_run(*run));
    run_bytes += run->shape.bytes();
    if (run->is_pinned()) pinned_bytes += run->shape.bytes();
    for (const Page& page : run->pages) {
      if (page.device) device_bytes += page.device->bytes();
    }
  }
  for (const auto& row : engine_.rows) TESSERA_TRY(validate_row(*row));
  TESSERA_TRY(engine_.by_trait.validate(engine_.runs));
  TESSERA_TRY(transfers_.validate());
  if (run_bytes != engine_.stats.run_bytes) return Status(Code::kInternal, "run bytes do not add up");
  if (pinned_bytes != engine_.pinned_bytes) return Status(Code::kInternal, "pinned bytes do not add up");
  const TierUsage device = tiers_.device.usage();
  if (device_bytes + device.lost != device.used) {
    return Status(Code::kInternal, "a device frame in use belongs to no page");
  }
  TESSERA_TRY(tiers_.device.validate());
  if (tiers_.peer != nullptr) TESSERA_TRY(tiers_.peer->validate());
  if (tiers_.is_backed()) return tiers_.backing->validate();
  TESSERA_TRY(tiers_.host.validate());
  return tiers_.file.validate();
}

}  // namespace tessera
