// The simulated device's copies: which engine makes them, and for which of them the call waits; and its fingerprints.
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "driver/native_codes.hpp"
#include "sim/sim_driver.hpp"
#include "sim/sim_engines.hpp"
#include "sim/sim_memory.hpp"
#include "sim/sim_pins.hpp"
#include "sim/sim_transfer.hpp"

namespace tessera {
namespace {

// Up to this size a copy from pageable memory is staged and the call does not wait, as on a GPU.
constexpr Bytes kStaged = 64_KiB;

std::span<const std::byte> bytes_of(const void* host, Bytes bytes) {
  return {static_cast<const std::byte*>(host), bytes.value()};
}
std::span<std::byte> bytes_of(void* host, Bytes bytes) { return {static_cast<std::byte*>(host), bytes.value()}; }

// An engine of the stream's device. A copy that crosses a link takes a copy engine, whichever call it was.
SimEngine engine_for(const SimBytes& to, const SimBytes& from, DeviceId device) {
  if (to.location != from.location) {
    return to.location == FrameLocation::kHost ? SimEngine::kOutbound : SimEngine::kInbound;
  }
  if (to.location == FrameLocation::kHost || to.device == from.device) return SimEngine::kCompute;
  return from.device == device ? SimEngine::kPeerOut : SimEngine::kPeerIn;
}

LinkSpeed speed_of(SimEngine engine, const SimOptions& options) {
  switch (engine) {
    case SimEngine::kInbound: return options.inbound;
    case SimEngine::kOutbound: return options.outbound;
    case SimEngine::kPeerIn:
    case SimEngine::kPeerOut: return options.peer;
    case SimEngine::kCompute:
    case SimEngine::kHost:
    case SimEngine::kMarker: break;
  }
  return {};
}

}  // namespace

Status SimDriver::copy_in(Address to, const void* from, Bytes bytes, StreamId stream) {
  if (bytes == Bytes()) return {};
  engines_->wait_for_room(meant(stream));
  TESSERA_TRY_ASSIGN(const Target on, target(stream));
  SimOp op;
  {
    MutexLock lock(mutex_);
    TESSERA_TRY(check_host(from, bytes));
    TESSERA_TRY_ASSIGN(const SimBytes device, bytes_at(to, bytes, on.device));
    const bool pinned = pins_->holds(range_of(from, bytes));
    const bool staged = !pinned && bytes <= kStaged;
    const Bytes there(device.bytes.size());  // none on a machine without contents
    std::shared_ptr<std::vector<std::byte>> stage;
    if (staged) {
      stage = std::make_shared<std::vector<std::byte>>(there.value());
      if (there) std::memcpy(stage->data(), from, there.value());
    }
    const void* const source = staged ? stage->data() : from;
    SimWork work = make_transfer("copy_in", device.bytes, bytes_of(source, there));
    work.time = options_.inbound.time_for(bytes);
    work.keeps = std::move(stage);
    touches(work, range_of(to, bytes));
    if (!staged) touches(work, range_of(from, bytes));
    TESSERA_TRY_ASSIGN(op, engines_->submit(on.stream, SimEngine::kInbound, std::move(work)));
    if (pinned || staged) return {};
  }
  return engines_->wait(on.device, op);
}

Status SimDriver::copy_out(void* to, Address from, Bytes bytes, StreamId stream) {
  if (bytes == Bytes()) return {};
  engines_->wait_for_room(meant(stream));
  TESSERA_TRY_ASSIGN(const Target on, target(stream));
  SimOp op;
  {
    MutexLock lock(mutex_);
    TESSERA_TRY_ASSIGN(SimWork work, copy_work(CopyWay::kOut, {from, to, bytes}, on.device));
    TESSERA_TRY_ASSIGN(op, engines_->submit(on.stream, SimEngine::kOutbound, std::move(work)));
    if (pins_->holds(range_of(to, bytes))) return {};
  }
  return engines_->wait(on.device, op);
}

Result<SimWork> SimDriver::copy_work(CopyWay way, const HostCopy& copy, DeviceId device) {
  TESSERA_TRY(check_host(copy.host, copy.bytes));
  TESSERA_TRY_ASSIGN(const SimBytes there, bytes_at(copy.device, copy.bytes, device));
  // No bytes on a machine without contents.
  const std::span<std::byte> host = bytes_of(copy.host, Bytes(there.bytes.size()));
  const bool in = way == CopyWay::kIn;
  SimWork work = in ? make_transfer("copy_in", there.bytes, host) : make_transfer("copy_out", host, there.bytes);
  work.time = (in ? options_.inbound : options_.outbound).time_for(copy.bytes);
  touches(work, range_of(copy.device, copy.bytes));
  touches(work, range_of(copy.host, copy.bytes));
  return work;
}

// If one is refused, none is queued.
Status SimDriver::copy_all(CopyWay way, std::span<const HostCopy> copies, StreamId stream) {
  if (!options_.copies_at_once) {
    return {Code::kNotSupported, "this machine has no batched copies", native::kNotSupported};
  }
  if (copies.empty()) return violation("an empty batch of copies");
  if (stream.value() <= 1) return violation("batched copies on the legacy default stream");
  engines_->wait_for_room(meant(stream));
  TESSERA_TRY_ASSIGN(const Target on, target(stream));
  MutexLock lock(mutex_);
  std::vector<SimWork> works;
  for (const HostCopy& one : copies) {
    TESSERA_TRY_ASSIGN(SimWork work, copy_work(way, one, on.device));
    const SimRange host = range_of(one.host, one.bytes);
    if (!pins_->holds(host)) {
      return violation(fmt::format("batched copies with {}, which is not registered", host.to_string()));
    }
    for (const SimWork& other : works) {
      const auto touched = other.touch(way == CopyWay::kIn ? range_of(one.device, one.bytes) : host);
      if (touched) return violation(fmt::format("batched copies that overlap: {}", *touched));
    }
    works.push_back(std::move(work));
  }
  const SimEngine engine = way == CopyWay::kIn ? SimEngine::kInbound : SimEngine::kOutbound;
  for (SimWork& work : works) {
    TESSERA_TRY(engines_->submit(on.stream, engine, std::move(work)).status());
  }
  return {};
}

Status SimDriver::copy(Address to, Address from, Bytes bytes, StreamId stream) {
  if (bytes == Bytes()) return {};
  engines_->wait_for_room(meant(stream));
  TESSERA_TRY_ASSIGN(const Target on, target(stream));
  MutexLock lock(mutex_);
  TESSERA_TRY_ASSIGN(const SimBytes target, bytes_at(to, bytes, on.device));
  TESSERA_TRY_ASSIGN(const SimBytes source, bytes_at(from, bytes, on.device));
  const SimEngine engine = engine_for(target, source, on.device);
  const bool lost = !options_.peers_carry && (engine == SimEngine::kPeerIn || engine == SimEngine::kPeerOut);
  SimWork work = lost ? make_transfer("copy", {}, {}) : make_transfer("copy", target.bytes, source.bytes);
  work.time = speed_of(engine, options_).time_for(bytes);
  touches(work, range_of(to, bytes));
  touches(work, range_of(from, bytes));
  const bool own_link = options_.peer_links_apart && (engine == SimEngine::kPeerIn || engine == SimEngine::kPeerOut);
  const DeviceId other = engine == SimEngine::kPeerIn ? source.device : target.device;
  return engines_->submit(on.stream, engine, std::move(work), own_link ? std::optional(other) : std::nullopt).status();
}

Status SimDriver::fingerprint(DeviceId device, std::span<const DeviceRange> ranges, Fingerprint* to, StreamId stream) {
  TESSERA_TRY(check_device(device));
  if (options_.contents == SimContents::kNone || !options_.makes_fingerprints) {
    return {Code::kNotSupported, "this machine has no fingerprints", native::kNotSupported};
  }
  if (ranges.empty() || ranges.size() > kMostFingerprints) {
    return violation(fmt::format("fingerprints of {} ranges at once", ranges.size()));
  }
  engines_->wait_for_room(meant(stream));
  TESSERA_TRY_ASSIGN(const Target on, target(stream));
  if (on.device != device) return violation("a fingerprint on a stream of another device");
  MutexLock lock(mutex_);
  std::vector<std::span<const std::byte>> bytes;
  std::vector<SimRange> touched;
  Bytes all;
  for (const DeviceRange& range : ranges) {
    if (!range.bytes || range.bytes % kFingerprintPart != Bytes() || range.address.value() % 16 != 0) {
      return violation(fmt::format("a fingerprint of {} bytes at {:#x}", range.bytes.value(), range.address.value()));
    }
    TESSERA_TRY_ASSIGN(const SimBytes there, bytes_at(range.address, range.bytes, device));
    bytes.push_back(there.bytes);
    touched.push_back(range_of(range.address, range.bytes));
    all += range.bytes;
  }
  touched.push_back(range_of(to, Bytes(all / kFingerprintPart * sizeof(Fingerprint))));
  if (!pins_->holds(touched.back())) {
    return violation(fmt::format("a fingerprint written to {}, which is not registered", touched.back().to_string()));
  }
  SimWork work = make_fingerprints(std::move(bytes), to);
  work.time = options_.fingerprints.time_for(all);
  work.ranges = std::move(touched);
  return engines_->submit(on.stream, SimEngine::kCompute, std::move(work)).status();
}

}  // namespace tessera
