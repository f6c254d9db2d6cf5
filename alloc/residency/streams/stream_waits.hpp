// Bounded waits for work on streams.
//
// A kernel may wait for the program, or for a kernel that the program launches later, as a collective does. A fence
// behind it passes only afterwards, so every wait here is bounded, and work that the program itself has waited for
// counts as over, whatever is queued behind it (docs/decisions/0028-waiting-kernels.md).
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/epoch.hpp"
#include "driver/driver.hpp"
#include "residency/streams/stream_table.hpp"

namespace tessera {

class StreamWaits {
 public:
  // How long a wait continues without any of the awaited work ending.
  enum class Bound : std::uint8_t {
    kPatience,  // for `patience`: then the caller proceeds without work that may wait for the program
    kWhole,     // kWholePatience times that: then the work is assumed not to end
  };
  static constexpr std::uint64_t kWholePatience = 30;

  // REQUIRES: `streams` outlives it.
  StreamWaits(Driver& driver, DeviceId device, StreamTable& streams, Nanoseconds patience = StreamTable::kUsualPatience)
      : driver_(driver), device_(device), streams_(streams), patience_(patience) {}

  // Waits until passed(mask, epoch). Errors: kNotReady where none of the work has ended for the bound, counted over all
  // waits for the same work. REQUIRES: StreamTable::fence(mask, epoch) was called.
  Status wait(std::uint64_t mask, Epoch epoch, Bound bound = Bound::kWhole);
  // Waits until all work noted up to `epoch` is over. By fences where possible: a device-wide wait would break a stream
  // capture of the program. REQUIRES: the gate is closed.
  Status wait_for_all(Epoch epoch);
  // Waits until one of these slots has completed a piece of work: true; false after the whole patience.
  Result<bool> await_news(std::uint64_t slots);
  // The slots with work that was waited for as long as `patience` and has not ended. Cheap.
  std::uint64_t stuck() const;
  // A kernel that waits for others was launched on the slot: until it is over, kPatience means `allowance` there.
  // Cheap.
  void note_waiter(std::uint32_t slot, Epoch epoch, Nanoseconds allowance);

 private:
  struct Waiter {
    std::atomic<Epoch> epoch{};               // newest of a kernel that is known to wait for others
    std::atomic<std::uint64_t> allowance{0};  // nanoseconds to wait for it
  };

  Status wait_for_device(std::uint64_t mask, Epoch epoch, std::uint64_t slots, Bound bound);
  Status look_at(const StreamTable::Unpassed& rest, Nanoseconds limit);
  Nanoseconds look_for(std::uint64_t slots) const;
  Nanoseconds time_left(std::uint64_t slots, Bound bound) const;
  Nanoseconds quiet_of(std::uint64_t slots) const;
  Nanoseconds bound_of(std::size_t slot, Bound bound) const;
  bool is_patient(std::uint64_t slots, Bound bound) const;
  WorkProgress& progress() const { return streams_.progress(); }

  Driver& driver_;
  const DeviceId device_;
  StreamTable& streams_;
  const Nanoseconds patience_;
  std::array<Waiter, StreamTable::kSlots> waiters_;
};

}  // namespace tessera
