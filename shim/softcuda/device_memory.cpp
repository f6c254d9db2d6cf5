#include "device_memory.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

namespace tessera::softcuda {
namespace {

constexpr Bytes kUnit = 512_B;
constexpr Bytes kSmall = 1_MiB;  // requests up to this size share a frame

std::uint64_t units_of(Bytes bytes) { return round_up(bytes, kUnit) / kUnit; }

Bytes granularity_of(SimDriver& driver) {
  const auto properties = driver.properties(DeviceId(0));
  return properties.is_ok() ? properties.value().granularity : 2_MiB;
}

}  // namespace

DeviceMemory::DeviceMemory(SimDriver& driver, Ranges& ranges)
    : driver_(driver), ranges_(ranges), granularity_(granularity_of(driver)) {}

Result<Address> DeviceMemory::allocate(Context& context, Bytes asked, MemoryKind kind) {
  const Bytes bytes = std::max(asked, 1_B);  // a request of 0 bytes gets an address too
  const MutexLock lock(mutex_);
  if (kind.limit && (bytes > kind.limit || ranges_.use_of(kind.pool).used + bytes > kind.limit)) {
    return Status(Code::kOutOfMemory, "the pool has its maximum size");
  }
  TESSERA_TRY(collect(false));
  auto taken = take(context.device, bytes, kind);
  if (!taken.is_ok() && !pending_.empty()) {
    TESSERA_TRY(collect(true));
    taken = take(context.device, bytes, kind);
  }
  if (!taken.is_ok()) return taken;
  Range range{.base = taken.value(), .bytes = bytes, .context = &context};
  range.pool = kind.pool;
  range.in_host_frame = kind.in_host_frame;
  range.managed = kind.managed;
  range.shareable = kind.shareable;
  range.counted = kind.counted;
  if (!ranges_.add(range)) return Status(Code::kInternal, "two allocations at one address");
  if (!kind.in_host_frame) live_ += bytes;
  peak_ = std::max(peak_, live_);
  return taken;
}

Result<Address> DeviceMemory::adopt(Context& context, int file, const SimPlace& place, Bytes bytes, CUmemoryPool pool) {
  const MutexLock lock(mutex_);
  TESSERA_TRY_ASSIGN(const FrameId frame, driver_.adopt_frame(file, place));
  TESSERA_TRY_ASSIGN(const Address address, map_frame(context.device, place.bytes, frame));
  Range range{.base = address, .bytes = bytes, .context = &context};
  range.pool = pool;
  range.in_host_frame = place.location == FrameLocation::kHost;
  range.imported = place.offset;
  if (!ranges_.add(range)) return Status(Code::kInternal, "two allocations at one address");
  frames_.emplace(address, frame);
  return address;
}

Status DeviceMemory::free(Address address) {
  const auto range = ranges_.remove(address, RangeKind::kDevice);
  if (!range) {
    return Status(Code::kInvalidArgument, fmt::format("{:#x} is not the begin of an allocation", address.value()));
  }
  const MutexLock lock(mutex_);
  return give(*range);
}

Status DeviceMemory::free_in_order(Address address, StreamId stream) {
  TESSERA_TRY_ASSIGN(const DeviceId device, driver_.device_of(stream));
  TESSERA_TRY_ASSIGN(const EventId event, driver_.create_event(device));
  if (const Status recorded = driver_.record_event(event, stream); !recorded.is_ok()) {
    TESSERA_TRY(driver_.destroy_event(event));
    return recorded;
  }
  const auto range = ranges_.remove(address, RangeKind::kDevice);
  if (!range) {
    TESSERA_TRY(driver_.destroy_event(event));
    return Status(Code::kInvalidArgument, fmt::format("{:#x} is not the begin of an allocation", address.value()));
  }
  const MutexLock lock(mutex_);
  pending_.push_back({*range, event});
  return collect(false);
}

Result<FrameId> DeviceMemory::hold(DeviceId device, Bytes bytes) {
  if (!bytes) return FrameId();
  const MutexLock lock(mutex_);
  TESSERA_TRY(collect(false));
  const Bytes whole = round_up(bytes, granularity_);
  auto frame = driver_.create_frame(device, FrameLocation::kDevice, whole);
  if (frame.is_ok() || pending_.empty()) return frame;
  TESSERA_TRY(collect(true));
  return driver_.create_frame(device, FrameLocation::kDevice, whole);
}

Status DeviceMemory::let_go(FrameId frame) { return frame == FrameId() ? Status() : driver_.destroy_frame(frame); }

Result<MemoryInfo> DeviceMemory::info(DeviceId device) {
  const MutexLock lock(mutex_);
  TESSERA_TRY(collect(false));
  return driver_.memory_info(device);
}

Bytes DeviceMemory::peak() {
  const MutexLock lock(mutex_);
  return peak_;
}

Status DeviceMemory::settle() {
  const MutexLock lock(mutex_);
  return collect(true);
}

Result<Address> DeviceMemory::take(DeviceId device, Bytes bytes, const MemoryKind& kind) {
  if (bytes > Bytes(~std::uint64_t{0}) - granularity_) {
    return Status(Code::kOutOfMemory, "more than the address space");
  }
  const bool small = bytes <= kSmall && kSmall < granularity_ && !kind.in_host_frame && !kind.shareable;
  if (small) return take_small(device, units_of(bytes));
  const FrameLocation location = kind.in_host_frame ? FrameLocation::kHost : FrameLocation::kDevice;
  FrameId frame;
  TESSERA_TRY_ASSIGN(const Address address, take_frame(device, round_up(bytes, granularity_), location, frame));
  frames_.emplace(address, frame);
  return address;
}

Result<Address> DeviceMemory::take_small(DeviceId device, std::uint64_t units) {
  for (auto& [base, chunk] : chunks_) {
    if (chunk.device != device) continue;
    if (const auto start = chunk.free.take(units)) return base + *start * kUnit;
  }
  Chunk chunk{.device = device, .frame = {}, .free = {}};
  TESSERA_TRY_ASSIGN(const Address base, take_frame(device, granularity_, FrameLocation::kDevice, chunk.frame));
  chunk.free.give(0, granularity_ / kUnit);
  const auto start = chunk.free.take(units);
  chunks_.emplace(base, std::move(chunk));
  return base + *start * kUnit;
}

Result<Address> DeviceMemory::take_frame(DeviceId device, Bytes bytes, FrameLocation location, FrameId& frame) {
  TESSERA_TRY_ASSIGN(frame, driver_.create_frame(device, location, bytes));
  return map_frame(device, bytes, frame);
}

Result<Address> DeviceMemory::map_frame(DeviceId device, Bytes bytes, FrameId frame) {
  const auto reserved = driver_.reserve_beside_host(bytes);
  if (!reserved.is_ok()) {
    TESSERA_TRY(driver_.destroy_frame(frame));
    return reserved;
  }
  const Address address = reserved.value();
  Status mapped = driver_.map(address, bytes, frame);
  if (mapped.is_ok()) {
    mapped = driver_.set_access(address, bytes, device);
    if (mapped.is_ok()) return address;
    TESSERA_TRY(driver_.unmap(address, bytes));
  }
  TESSERA_TRY(driver_.release(address, bytes));
  TESSERA_TRY(driver_.destroy_frame(frame));
  return mapped;
}

Status DeviceMemory::give(const Range& range) {
  const Address address = range.base;
  const Bytes bytes = range.bytes;
  if (!range.in_host_frame && !range.imported) live_ -= bytes;
  if (const auto large = frames_.find(address); large != frames_.end()) {
    TESSERA_TRY(give_frame(address, round_up(bytes, granularity_), large->second));
    frames_.erase(large);
    return Status::ok();
  }
  auto chunk = chunks_.upper_bound(address);
  if (chunk == chunks_.begin()) return Status(Code::kInternal, "a small block without a frame");
  --chunk;
  chunk->second.free.give((address - chunk->first) / kUnit, units_of(bytes));
  if (chunk->second.free.free_count() < granularity_ / kUnit) return Status::ok();
  TESSERA_TRY(give_frame(chunk->first, granularity_, chunk->second.frame));
  chunks_.erase(chunk);
  return Status::ok();
}

Status DeviceMemory::give_frame(Address address, Bytes bytes, FrameId frame) {
  TESSERA_TRY(driver_.unmap(address, bytes));
  TESSERA_TRY(driver_.release(address, bytes));
  return driver_.destroy_frame(frame);
}

Status DeviceMemory::collect(bool wait) {
  std::vector<Pending> left;
  Status first;
  for (const Pending& entry : pending_) {
    const Status passed = wait ? driver_.synchronize(entry.event) : driver_.query(entry.event);
    if (!passed.is_ok()) {
      left.push_back(entry);
      continue;
    }
    const Status destroyed = driver_.destroy_event(entry.event);
    const Status given = give(entry.range);
    if (first.is_ok()) first = !destroyed.is_ok() ? destroyed : given;
  }
  pending_ = std::move(left);
  return first;
}

}  // namespace tessera::softcuda
