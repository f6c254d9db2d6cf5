#include "lab/fuzz/stamp_driver.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/core.h>

#include "base/page_class.hpp"
#include "driver/native_codes.hpp"

namespace tessera {
namespace {

constexpr Nanoseconds kFingerprintTime{5'000};

std::string text_of(const std::optional<Stamp>& stamp) {
  if (!stamp) return "none";
  return *stamp == kTorn ? "torn bytes" : fmt::format("{:#x}", *stamp);
}

}  // namespace

void StampDriver::note_violation(std::string what) {
  if (!violation_) violation_ = std::move(what);
}

Status StampDriver::noted(const char* call, Status status) {
  const int native = status.native_code();
  if (status.code() == Code::kInvalidArgument ||
      (status.code() == Code::kDriver && (native == native::kInvalidValue || native == native::kInvalidHandle))) {
    note_violation(fmt::format("illegal {}: {}", call, status.message()));
  }
  return status;
}

void StampDriver::delay_copies(int count, Nanoseconds time) {
  delayed_copies_ = count;
  delay_ = time;
}

Status StampDriver::delay(StreamId stream) {
  if (delayed_copies_ == 0) return {};
  --delayed_copies_;
  return sim_.occupy(stream, delay_, {});
}

std::vector<StampDriver::Piece> StampDriver::pieces_until_gap(Address address, Bytes bytes) const {
  std::vector<Piece> found;
  Address at = address;
  const Address end = address + bytes;
  while (at < end) {
    auto next = mappings_.upper_bound(at.value());
    if (next == mappings_.begin()) break;
    const auto& [start, mapping] = *--next;
    const Bytes offset = at - Address(start);
    if (offset >= mapping.bytes) break;
    // A large page is mapped to one frame or to sixteen: its stamps are the same in both cases.
    const Bytes in_page = kBasePage - Bytes(at.value()) % kBasePage;
    const Bytes part = std::min({mapping.bytes - offset, end - at, in_page});
    found.push_back({device_place(mapping.frame.number, offset), part, mapping.frame.device});
    at = at + part;
  }
  return found;
}

std::vector<StampDriver::Piece> StampDriver::pieces(const char* by, Address address, Bytes bytes) {
  std::vector<Piece> found = pieces_until_gap(address, bytes);
  Address at = address;
  for (const Piece& piece : found) at = at + piece.bytes;
  if (at < address + bytes) note_violation(fmt::format("{} touches {:#x}, where nothing is mapped", by, at.value()));
  return found;
}

// ---- kernels ------------------------------------------------------------------------------------

void StampDriver::check_uses(const std::vector<StampUse>& uses) {
  for (const StampUse& use : uses) {
    for (const Piece& piece : pieces("a kernel", use.address, use.bytes)) {
      if (use.expected == 0) continue;
      const std::optional<Stamp> found = memory_.stamp_of(piece.place, piece.bytes);
      if (found == use.expected) continue;
      note_violation(fmt::format("wrong data in the block at {:#x}: expected {:#x}, found {}", use.address.value(),
                                 use.expected, text_of(found)));
    }
  }
}

void StampDriver::begin_kernel(const std::vector<StampUse>& uses) {
  check_uses(uses);
  for (const StampUse& use : uses) {
    if (use.leaves == 0) continue;
    for (const Piece& piece : pieces("a kernel", use.address, use.bytes)) {
      memory_.write(piece.place, piece.bytes, kTorn);
    }
  }
}

void StampDriver::end_kernel(const std::vector<StampUse>& uses) {
  std::vector<StampUse> during = uses;
  for (StampUse& use : during) {
    if (use.leaves != 0) use.expected = kTorn;
  }
  check_uses(during);
  for (const StampUse& use : uses) {
    if (use.leaves == 0) continue;
    for (const Piece& piece : pieces("a kernel", use.address, use.bytes)) {
      memory_.write(piece.place, piece.bytes, use.leaves);
    }
  }
}

Status StampDriver::run_kernel(StreamId stream, Nanoseconds time, std::vector<StampUse> uses) {
  std::vector<DeviceRange> ranges;
  for (const StampUse& use : uses) ranges.push_back({use.address, use.bytes});
  const auto shared = std::make_shared<const std::vector<StampUse>>(std::move(uses));
  TESSERA_TRY(noted("launch", sim_.host_function(stream, [this, shared] { begin_kernel(*shared); })));
  TESSERA_TRY(noted("launch", sim_.occupy(stream, time, ranges)));
  return noted("launch", sim_.host_function(stream, [this, shared] { end_kernel(*shared); }));
}

Result<bool> StampDriver::try_kernel(StreamId stream, const StampUse& use) {
  const auto done = std::make_shared<bool>(false);
  const auto act = [this, done, use] {
    Bytes mapped;
    for (const Piece& piece : pieces_until_gap(use.address, use.bytes)) mapped += piece.bytes;
    if (mapped != use.bytes) return;
    check_uses({use});
    for (const Piece& piece : pieces("a kernel", use.address, use.bytes)) {
      if (use.leaves != 0) memory_.write(piece.place, piece.bytes, use.leaves);
    }
    *done = true;
  };
  TESSERA_TRY(noted("launch", sim_.host_function(stream, act)));
  TESSERA_TRY(synchronize(stream));
  return *done;
}

// ---- copies -------------------------------------------------------------------------------------

std::vector<StampDriver::Piece> StampDriver::pieces(const Side& side, Bytes bytes) {
  if (const auto* const host = std::get_if<Place>(&side)) return {{*host, bytes, {}}};
  return pieces("a copy", std::get<Address>(side), bytes);
}

std::vector<StampDriver::CopyStep> StampDriver::copy_steps(const Side& to, const Side& from, Bytes bytes) {
  std::vector<Piece> targets = pieces(to, bytes), sources = pieces(from, bytes);
  std::vector<CopyStep> found;
  // Takes `part` off the front of the piece; advances to the next one when nothing is left.
  const auto take = [](std::vector<Piece>::iterator& at, Bytes part) {
    const Piece taken{at->place, part, at->device};
    at->place = Place(at->place.value() + part.value());
    at->bytes -= part;
    if (!at->bytes) ++at;
    return taken;
  };
  for (auto target = targets.begin(), source = sources.begin(); target != targets.end() && source != sources.end();) {
    const Bytes part = std::min(target->bytes, source->bytes);
    found.push_back({.to = take(target, part), .from = take(source, part)});
  }
  return found;
}

template <class Submit>
Status StampDriver::carry(const Side& to, const Side& from, Bytes bytes, StreamId stream, Submit submit) {
  const auto carried = std::make_shared<std::vector<CopyStep>>();
  TESSERA_TRY(delay(stream));
  const auto begin = [this, carried, to, from, bytes] {
    *carried = copy_steps(to, from, bytes);
    for (CopyStep& step : *carried) {
      step.seen = memory_.read(step.from.place, step.from.bytes);
      memory_.write(step.to.place, step.to.bytes, kTorn);
    }
  };
  const auto end = [this, carried] {
    for (const CopyStep& step : *carried) {
      const bool same = memory_.read(step.from.place, step.from.bytes) == step.seen;
      if (same) memory_.write(step.to.place, step.to.bytes, step.seen);
    }
  };
  TESSERA_TRY(noted("copy", sim_.host_function(stream, begin)));
  TESSERA_TRY(submit());
  return noted("copy", sim_.host_function(stream, end));
}

Status StampDriver::copy_in(Address to, const void* from, Bytes bytes, StreamId stream) {
  return carry(to, host_place(from), bytes, stream,
               [&] { return noted("copy_in", sim_.copy_in(to, from, bytes, stream)); });
}

Status StampDriver::copy_out(void* to, Address from, Bytes bytes, StreamId stream) {
  return carry(host_place(to), from, bytes, stream,
               [&] { return noted("copy_out", sim_.copy_out(to, from, bytes, stream)); });
}

// One by one: any order among them is allowed.
Status StampDriver::copy_all(CopyWay way, std::span<const HostCopy> copies, StreamId stream) {
  for (const HostCopy& one : copies) {
    const Side host = host_place(one.host), device = one.device;
    const bool in = way == CopyWay::kIn;
    TESSERA_TRY(carry(in ? device : host, in ? host : device, one.bytes, stream, [&] {
      return noted("copy_all", sim_.copy_all(way, {&one, 1}, stream));
    }));
  }
  return {};
}

Status StampDriver::copy(Address to, Address from, Bytes bytes, StreamId stream) {
  for (const CopyStep& step : copy_steps(to, from, bytes)) {
    if (step.to.device == step.from.device) note_violation("a copy within the device");
  }
  return carry(to, from, bytes, stream, [&] { return noted("copy", sim_.copy(to, from, bytes, stream)); });
}

Status StampDriver::fill(Address to, std::uint8_t value, Bytes bytes, StreamId stream) {
  note_violation("a fill");
  return sim_.fill(to, value, bytes, stream);
}

Status StampDriver::launch(const Launch& launch, StreamId stream) {
  return noted("launch", sim_.launch(launch, stream));
}

// A fingerprint taken during a write equals no other.
Fingerprint StampDriver::fingerprint_of(Address address, Bytes bytes) {
  Fingerprint sum;
  for (const Piece& piece : pieces("a fingerprint", address, bytes)) {
    for (const auto& [offset, stamp] : memory_.read(piece.place, piece.bytes)) {
      if (stamp == kTorn) sum.low += ++torn_fingerprints_;
    }
    sum.high = sum.high * 31 + memory_.digest(piece.place, piece.bytes);
  }
  return sum;
}

Status StampDriver::fingerprint(DeviceId, std::span<const DeviceRange> ranges, Fingerprint* to, StreamId stream) {
  struct Step {
    DeviceRange range;
    Fingerprint* to;
    Fingerprint seen;  // when it began
  };
  const auto steps = std::make_shared<std::vector<Step>>();
  for (const DeviceRange& range : ranges) {
    steps->push_back({range, to, {}});
    to += range.bytes / kFingerprintPart;
  }
  const auto begin = [this, steps] {
    for (Step& step : *steps) step.seen = fingerprint_of(step.range.address, step.range.bytes);
  };
  const auto end = [this, steps] {
    for (const Step& step : *steps) {
      std::fill_n(step.to, step.range.bytes / kFingerprintPart, Fingerprint{});
      *step.to = fingerprint_of(step.range.address, step.range.bytes);
      if (*step.to != step.seen) step.to->low += ++torn_fingerprints_;
    }
  };
  TESSERA_TRY(noted("fingerprint", sim_.host_function(stream, begin)));
  TESSERA_TRY(noted("fingerprint", sim_.occupy(stream, kFingerprintTime, ranges)));
  return noted("fingerprint", sim_.host_function(stream, end));
}

// ---- addresses and frames -----------------------------------------------------------------------

Result<FrameId> StampDriver::create_frame(DeviceId device, FrameLocation location, Bytes bytes) {
  Result<FrameId> frame = sim_.create_frame(device, location, bytes);
  if (frame.is_ok()) {
    frames_[frame.value()] = {++last_frame_, location == FrameLocation::kHost ? kHostFrames : device};
  }
  return frame;
}

Status StampDriver::destroy_frame(FrameId frame) { return noted("destroy_frame", sim_.destroy_frame(frame)); }

Status StampDriver::map(Address address, Bytes bytes, FrameId frame) {
  Status status = noted("map", sim_.map(address, bytes, frame));
  if (status.is_ok()) mappings_[address.value()] = {bytes, frames_[frame]};
  return status;
}

Status StampDriver::set_access(Address address, Bytes bytes, DeviceId device) {
  return noted("set_access", sim_.set_access(address, bytes, device));
}

Status StampDriver::unmap(Address address, Bytes bytes) {
  Status status = noted("unmap", sim_.unmap(address, bytes));
  if (!status.is_ok()) return status;
  mappings_.erase(mappings_.lower_bound(address.value()), mappings_.lower_bound((address + bytes).value()));
  return status;
}

Result<Address> StampDriver::reserve(Bytes bytes, Bytes alignment, Address hint) {
  return sim_.reserve(bytes, alignment, hint);
}

Status StampDriver::release(Address address, Bytes bytes) { return noted("release", sim_.release(address, bytes)); }

Status StampDriver::register_host(void* host, Bytes bytes) {
  return noted("register_host", sim_.register_host(host, bytes));
}

Status StampDriver::unregister_host(void* host) { return noted("unregister_host", sim_.unregister_host(host)); }

// ---- forwarded unchanged ------------------------------------------------------------------------

Result<DeviceProperties> StampDriver::properties(DeviceId device) { return sim_.properties(device); }
Result<MemoryInfo> StampDriver::memory_info(DeviceId device) { return sim_.memory_info(device); }
Status StampDriver::synchronize(DeviceId device) { return sim_.synchronize(device); }
Status StampDriver::synchronize(DeviceId device, Nanoseconds limit) { return sim_.synchronize(device, limit); }
Result<StreamId> StampDriver::create_stream(DeviceId device) { return sim_.create_stream(device); }
Status StampDriver::destroy_stream(StreamId stream) { return noted("destroy_stream", sim_.destroy_stream(stream)); }
Status StampDriver::synchronize(StreamId stream, Nanoseconds limit) {
  Status status = sim_.synchronize(stream, limit);
  return status.code() == Code::kNotReady ? status : noted("synchronize", std::move(status));
}

Status StampDriver::synchronize(StreamId stream) { return noted("synchronize", sim_.synchronize(stream)); }
Status StampDriver::wait_event(StreamId stream, EventId event) {
  return noted("wait_event", sim_.wait_event(stream, event));
}
Result<EventId> StampDriver::create_event(DeviceId device) { return sim_.create_event(device); }
Result<EventId> StampDriver::create_timed_event(DeviceId device) { return sim_.create_timed_event(device); }
Status StampDriver::destroy_event(EventId event) { return noted("destroy_event", sim_.destroy_event(event)); }
Status StampDriver::record_event(EventId event, StreamId stream) {
  return noted("record_event", sim_.record_event(event, stream));
}
Status StampDriver::query(EventId event) { return noted("query", sim_.query(event)); }
Status StampDriver::synchronize(EventId event, Nanoseconds limit) {
  Status status = sim_.synchronize(event, limit);
  return status.code() == Code::kNotReady ? status : noted("synchronize", std::move(status));
}

Status StampDriver::synchronize(EventId event) { return noted("synchronize", sim_.synchronize(event)); }
Result<std::int64_t> StampDriver::elapsed(EventId start, EventId end) {
  Result<std::int64_t> time = sim_.elapsed(start, end);
  if (!time.is_ok()) return noted("elapsed", time.status());
  return time;
}

}  // namespace tessera
