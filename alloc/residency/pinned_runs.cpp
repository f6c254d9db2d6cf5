#include "residency/pinned_runs.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/atomic_max.hpp"

namespace tessera {
namespace {

// What pins leave to launches.
constexpr std::uint64_t kLeastPartBesidePins = 32, kMostPartBesidePins = 16;  // of the device
constexpr Bytes kMostBesidePins{512 << 20};

}  // namespace

// A run that other calls in progress use in host memory cannot move: waits until one of them lets go. After a callback
// the run may be removed once it is not held.
Status PinnedRuns::pin(Run* run, const char* exposed_by, const Held& held) {
  bool may_be_removed = false;
  const Held on_held = [&] {
    may_be_removed = true;
    if (held) held();
  };
  for (;;) {
    {
      MutexLock lock(locked_.mutex);
      TESSERA_TRY(check_room_beside_pins(*run, room_beside_pins()));
    }
    TESSERA_TRY(fetch_.fetch_and_hold({&run, 1}, kNoStream, Oversized::kRefused, on_held));
    const std::uint32_t own_end = locked_.held_uses.ends() + 1;
    Status pinned = pin_held(*run, exposed_by);
    if (pinned.code() != Code::kBusy || may_be_removed) return pinned;
    if (!await_others(own_end)) return pinned;
  }
}

// Whether a call has let go since this one did, or does so in time. False at once where none is in progress.
bool PinnedRuns::await_others(std::uint32_t own_end) const {
  const HeldUses& uses = locked_.held_uses;
  if (uses.count() == 0) return uses.ends() != own_end;
  return uses.await_end(own_end, locked_.options.patience * StreamWaits::kWholePatience);
}

// Lets go of the run.
Status PinnedRuns::pin_held(Run& run, const char* exposed_by) {
  MutexLock lock(locked_.mutex);
  Status fits = check_room_beside_pins(run, room_beside_pins());  // another thread may have pinned meanwhile
  if (fits.is_ok()) fits = locked_.partial.make_whole(run);
  if (fits.is_ok()) {
    const bool exposes = exposed_by != nullptr && run.exposure.reason == nullptr;
    if (exposed_by == nullptr || exposes) add_pin(run);
    if (exposes) run.exposure.reason = exposed_by;
  }
  Run* const held = &run;
  locked_.held_uses.let_go({&held, 1});
  return fits;
}

void PinnedRuns::add_pin(Run& run) {
  if (run.pins.fetch_add(1) == 0) locked_.engine.pinned_bytes += run.shape.bytes();
}

void PinnedRuns::drop_pin(Run& run) {
  if (run.pins.fetch_sub(1) == 1) locked_.engine.pinned_bytes -= run.shape.bytes();
}

// While the run could not be evicted, work may have used it unannounced, and may go on to do so: copies in lower tiers
// are invalid.
void PinnedRuns::note_unseen_use(Run& run) {
  const Epoch epoch = locked_.streams.tick();
  raise_to(run.used, epoch);
  raise_to(run.written, epoch);
}

Status PinnedRuns::unpin(Run* run) {
  MutexLock lock(locked_.mutex);
  const std::uint32_t own = run->exposure.pins();
  if (run->pins.load() <= own) return Status(Code::kInvalidArgument, "the block is not pinned");
  if (locked_.unseen.load()) note_unseen_use(*run);
  drop_pin(*run);
  return {};
}

// A pin that the program wants, or cannot do without, leaves little, as launches may use mostly pinned blocks; and
// nothing where all blocks fit together.
Bytes PinnedRuns::room_beside_pins() const {
  const Bytes device = locked_.tiers.device.usage().capacity;
  if (locked_.engine.stats.run_bytes <= device) return {};
  const Bytes least = std::max(kBasePage, std::min(device / kLeastPartBesidePins, kMostBesidePins));
  return std::max(least, std::min(locked_.tracker.largest_launch().bytes, device / kMostPartBesidePins));
}

// Pins for addresses that no call announces leave the largest launch so far, but at most half of the device, since a
// larger launch may itself have used what is pinned now.
Bytes PinnedRuns::room_beside_kept() const {
  return std::min(locked_.tracker.largest_launch().bytes, locked_.tiers.device.usage().capacity / 2);
}

Status PinnedRuns::check_room_beside_pins(const Run& run, Bytes launches) const {
  const Bytes device = locked_.tiers.device.usage().capacity;
  if (run.pins.load() != 0 || locked_.engine.pinned_bytes + run.shape.bytes() + launches <= device) return {};
  return Status(
      Code::kOutOfMemory,
      fmt::format("of {} MiB of device memory, {} MiB are pinned and launches need {} MiB: another {} MiB cannot "
                  "be pinned",
                  device / 1_MiB, locked_.engine.pinned_bytes / 1_MiB, launches / 1_MiB, run.shape.bytes() / 1_MiB));
}

Status PinnedRuns::keep(Run* run, const char* reason, const Held& held) {
  {
    MutexLock lock(locked_.mutex);
    TESSERA_TRY(check_room_beside_pins(*run, room_beside_kept()));
  }
  TESSERA_TRY(fetch_.fetch_and_hold({&run, 1}, kNoStream, Oversized::kRefused, held));
  MutexLock lock(locked_.mutex);
  const Status fits = check_room_beside_pins(*run, room_beside_kept());  // another thread may have pinned meanwhile
  if (fits.is_ok()) {
    if (run->exposure.keeps++ == 0) {
      add_pin(*run);
      run->exposure.kept_for = reason;
    }
  }
  locked_.held_uses.let_go({&run, 1});
  return fits;
}

Status PinnedRuns::unkeep(Run* run) {
  MutexLock lock(locked_.mutex);
  if (run->exposure.keeps == 0) return Status(Code::kInvalidArgument, "the block is not kept");
  if (--run->exposure.keeps != 0) return {};
  run->exposure.kept_for = nullptr;
  note_unseen_use(*run);
  drop_pin(*run);
  return {};
}

}  // namespace tessera
