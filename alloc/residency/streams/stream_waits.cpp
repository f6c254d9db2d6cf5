#include "residency/streams/stream_waits.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "base/atomic_max.hpp"

namespace tessera {
namespace {

// The first wait for one fence, after which the other streams are polled. Work that passes is seen at once; progress
// elsewhere is seen later the longer the wait has lasted.
constexpr Nanoseconds kLook{5'000'000};
constexpr std::uint64_t kLooksInPatience = 16;

Status does_not_end(const std::string& where, Nanoseconds waited) {
  return Status(Code::kNotReady, fmt::format("work on {} made no progress for {} ms: a kernel may be waiting for the "
                                             "program or for another kernel",
                                             where, waited.value() / 1'000'000));
}

}  // namespace

Nanoseconds StreamWaits::look_for(std::uint64_t slots) const {
  Nanoseconds quiet;
  for (std::size_t i : SlotsIn{slots}) quiet = std::max(quiet, progress().quiet(i));
  const Nanoseconds longest = std::max(patience_ / kLooksInPatience, Nanoseconds(1));
  return std::min(std::max(kLook, quiet / kLooksInPatience), longest);
}

// Without a fence the stream itself is waited for.
Status StreamWaits::look_at(const StreamTable::Unpassed& rest, Nanoseconds limit) {
  return rest.fence ? driver_.synchronize(*rest.fence, limit) : driver_.synchronize(rest.stream, limit);
}

// True while one of the slots has been waited for less than its bound: it may be what the others wait for.
bool StreamWaits::is_patient(std::uint64_t slots, Bound bound) const {
  for (std::size_t i : SlotsIn{slots}) {
    if (progress().quiet(i) < bound_of(i, bound)) return true;
  }
  return false;
}

Nanoseconds StreamWaits::quiet_of(std::uint64_t slots) const {
  return progress().quiet(SlotsIn{slots}.begin().operator*());
}

// Until is_patient() is false.
Nanoseconds StreamWaits::time_left(std::uint64_t slots, Bound bound) const {
  Nanoseconds left(1);
  for (std::size_t i : SlotsIn{slots}) {
    const Nanoseconds quiet = progress().quiet(i), most = bound_of(i, bound);
    left = std::max(left, most - std::min(most, quiet));
  }
  return left;
}

Nanoseconds StreamWaits::bound_of(std::size_t slot, Bound bound) const {
  if (bound == Bound::kWhole) return patience_ * kWholePatience;
  const Waiter& waiter = waiters_[slot];
  const bool waits = waiter.epoch.load() > streams_.completed(slot);
  return waits ? std::min(Nanoseconds(waiter.allowance.load()), patience_) : patience_;
}

Status StreamWaits::wait(std::uint64_t mask, Epoch epoch, Bound bound) {
  if (!streams_.passed(mask, epoch)) TESSERA_TRY(streams_.poll());  // it may have ended since the last wait gave up
  while (!streams_.passed(mask, epoch)) {
    const StreamTable::Unpassed rest = streams_.unpassed(mask, epoch);
    if (rest.slots == 0) continue;
    // Without a fence to wait for (a thread ended before it fenced its own stream), waits for the device.
    if (!rest.can_be_looked_at) return wait_for_device(mask, epoch, rest.slots, bound);
    if (!is_patient(rest.slots, bound)) {
      return does_not_end(fmt::format("stream {:#x}", rest.stream.value()), quiet_of(rest.slots));
    }
    const std::uint64_t before = progress().ended(rest.slots);
    const Nanoseconds look = look_for(rest.slots);
    const Status status = look_at(rest, look);
    if (!status.is_ok() && status.code() != Code::kNotReady) {
      if (!rest.fence) return wait_for_device(mask, epoch, rest.slots, bound);  // the stream may be gone
      return status;
    }
    if (status.is_ok() && !rest.fence) streams_.note_over(rest.stream, rest.label);
    TESSERA_TRY(streams_.poll());
    if (!status.is_ok()) progress().note_waited(rest.slots, before, look);
  }
  return {};
}

std::uint64_t StreamWaits::stuck() const {
  std::uint64_t slots = 0;
  for (std::size_t i : SlotsIn{streams_.in_use(StreamTable::kAllStreams)}) {
    const bool waits = !streams_.is_over(i) && progress().quiet(i) >= bound_of(i, Bound::kPatience);
    if (waits) slots |= std::uint64_t{1} << i;
  }
  return slots;
}

Result<bool> StreamWaits::await_news(std::uint64_t slots) {
  const std::uint64_t before = progress().ended(slots);
  TESSERA_TRY(streams_.poll());
  while (progress().ended(slots) == before) {
    const StreamTable::Unpassed rest = streams_.unpassed(slots, StreamTable::kAllSoFar);
    if (rest.slots != slots) return true;
    if (!is_patient(slots, Bound::kWhole)) return false;
    if (!rest.can_be_looked_at) {
      const Nanoseconds longest = time_left(slots, Bound::kWhole);
      const Status over = driver_.synchronize(device_, longest);
      if (over.code() != Code::kNotReady) return over.is_ok() ? Result<bool>(true) : Result<bool>(over);
      TESSERA_TRY(streams_.poll());
      progress().note_waited(slots, before, longest);
      continue;
    }
    const Nanoseconds look = look_for(rest.slots);
    const Status status = look_at(rest, look);
    if (!status.is_ok() && status.code() != Code::kNotReady) return status;
    if (status.is_ok() && !rest.fence) return true;
    TESSERA_TRY(streams_.poll());
    if (!status.is_ok()) progress().note_waited(slots, before, look);
  }
  return true;
}

Status StreamWaits::wait_for_all(Epoch epoch) {
  TESSERA_TRY(streams_.fence(StreamTable::kAllStreams, epoch));
  return wait(StreamTable::kAllStreams, epoch);
}

// `slots`: those in `mask` whose work is not known to be over.
Status StreamWaits::wait_for_device(std::uint64_t mask, Epoch epoch, std::uint64_t slots, Bound bound) {
  streams_.close(epoch);
  const std::vector<std::uint64_t> left = streams_.left_by_threads();
  for (;;) {
    if (!is_patient(slots, bound)) return does_not_end("the device", quiet_of(slots));
    const std::uint64_t before = progress().ended(slots);
    const Nanoseconds longest = time_left(slots, bound);
    const Status over = driver_.synchronize(device_, longest);
    if (over.is_ok()) break;
    if (over.code() != Code::kNotReady) return over;
    TESSERA_TRY(streams_.poll());
    progress().note_waited(slots, before, longest);
  }
  return streams_.note_device_idle(mask, epoch, left);
}

void StreamWaits::note_waiter(std::uint32_t slot, Epoch epoch, Nanoseconds allowance) {
  waiters_[slot].allowance.store(allowance.value());
  raise_to(waiters_[slot].epoch, epoch);
}

}  // namespace tessera
