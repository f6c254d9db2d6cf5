#include "residency/locked_engine.hpp"

#include <utility>

#include <fmt/core.h>

namespace tessera {

LockedEngine::LockedEngine(Driver& driver, DeviceId device, TierStack tiers, std::unique_ptr<Policy> policy,
                           EventLog& log, ResidencyOptions options, std::unique_ptr<CopyLanes> lanes)
    : driver(driver),
      device(device),
      tiers(tiers),
      guide(make_guide(std::move(policy), options.make_planner)),
      log(log),
      options(std::move(options)),
      lanes(std::move(lanes)),
      streams(driver, device, this->options.patience, this->options.queue_depth),
      waits(driver, device, streams, this->options.patience),
      tracker(driver, device, *guide.policy, *guide.planner, engine.runs, this->options.class_of_tag),
      gate(this->options.patience),
      engine{.driver = driver,
             .device = device,
             .tiers = tiers,
             .log = log,
             .options = this->options,
             .lanes = *this->lanes,
             .streams = streams,
             .waits = waits,
             .tracker = tracker,
             .gate = gate,
             .held_uses = held_uses,
             .automatic = automatic,
             .unseen = unseen,
             .any_in_host = any_in_host,
             .waiting = waiting},
      moves({.driver = driver,
             .device = device,
             .tiers = tiers,
             .lanes = *this->lanes,
             .gate = gate,
             .log = log,
             .stats = engine.stats,
             .unseen = unseen},
            engine.by_trait, this->options.fingerprints),
      transfers(engine, moves, in_flight),
      host_evictor(engine, moves, transfers),
      run_eviction(engine, moves, transfers, host_evictor),
      planned_evictions(engine, transfers, run_eviction),
      device_evictor(engine, moves, transfers, run_eviction, planned_evictions),
      partial(engine, moves, transfers, host_evictor, device_evictor),
      review(engine, partial, watches, review_due),
      fetcher(engine, transfers, host_evictor, device_evictor, partial, review),
      executor(engine, moves, transfers, host_evictor, planned_evictions, device_evictor, awaits_room),
      rows(engine, moves, transfers) {
  // Planned moves run beside the program's work, which host-backed pages must not.
  if (tiers.is_backed()) tracker.stop_logging();
}

Status LockedEngine::await_uses(const Run& run, const Status& fenced) {
  const Status status = fenced.is_ok() ? waits.wait(run.users(), run.last_work()) : fenced;
  if (status.is_ok() || status.code() == Code::kNotReady) return status;
  return await_device();
}

Status LockedEngine::await_device() {
  const Nanoseconds limit = options.patience * StreamWaits::kWholePatience;
  const Status over = driver.synchronize(device, limit);
  if (over.code() != Code::kNotReady) return over;
  return Status(Code::kNotReady,
                fmt::format("work on the device has not ended within {} s: a kernel may be waiting for "
                            "the program or for another kernel",
                            limit.value() / 1'000'000'000));
}

}  // namespace tessera
