#include "sim/sim_driver.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <span>
#include <utility>

#include <fmt/core.h>

#include "base/log.hpp"
#include "driver/native_codes.hpp"
#include "sim/sim_launch.hpp"
#include "sim/sim_memory.hpp"
#include "sim/sim_pins.hpp"
#include "sim/sim_real_engines.hpp"
#include "sim/sim_transfer.hpp"
#include "sim/sim_virtual_engines.hpp"

namespace tessera {
namespace {

constexpr std::size_t kMaxLeakLines = 8;

std::atomic<std::uint64_t> next_serial{1};

// The current device of a thread, and the driver that it belongs to.
struct CurrentDevice {
  std::uint64_t serial = 0;
  DeviceId device;
};
thread_local CurrentDevice current_device_of_thread;

Nanoseconds share_of(Nanoseconds time, Bytes part, Bytes all) {
  const double share = static_cast<double>(part.value()) / static_cast<double>(all.value());
  return Nanoseconds(static_cast<std::uint64_t>(static_cast<double>(time.value()) * share));
}

}  // namespace

SimDriver::SimDriver(SimOptions options, const Clock& clock)
    : SimDriver(options, std::make_unique<RealEngines>(options.devices, clock, options.queue_depth, options.hardware)) {
}

SimDriver::SimDriver(SimOptions options, VirtualClock& clock)
    : SimDriver(options, std::make_unique<VirtualEngines>(options.devices, clock, options.watcher, options.queue_depth,
                                                          options.virtual_hardware)) {}

SimDriver::SimDriver(SimOptions options, std::unique_ptr<SimEngines> engines)
    : serial_(next_serial.fetch_add(1, std::memory_order_relaxed)),
      options_(std::move(options)),
      memory_(std::make_unique<SimMemory>(options_)),
      pins_(std::make_unique<SimPins>()),
      engines_(std::move(engines)) {}

SimDriver::~SimDriver() {
  const std::vector<std::string> lines = leaks();
  engines_.reset();
  for (std::size_t i = 0; i < lines.size() && i < kMaxLeakLines; ++i) {
    log_line(LogLevel::kWarning, "{}: leaked {}", options_.name, lines[i]);
  }
  if (lines.size() > kMaxLeakLines) {
    log_line(LogLevel::kWarning, "{}: leaked {} more", options_.name, lines.size() - kMaxLeakLines);
  }
}

// ---- devices -----------------------------------------------------------------------------------

int SimDriver::device_count() { return options_.devices; }

Status SimDriver::check_device(DeviceId device) const {
  if (device.value() < static_cast<std::uint64_t>(options_.devices)) return {};
  return {Code::kInvalidArgument, fmt::format("no device {} of {}", device.value(), options_.devices),
          native::kInvalidDevice};
}

Result<DeviceProperties> SimDriver::properties(DeviceId device) {
  TESSERA_TRY(check_device(device));
  return DeviceProperties{.name = options_.name,
                          .total_memory = options_.memory,
                          .granularity = options_.granularity,
                          .virtual_memory = options_.virtual_memory,
                          .host_frames = options_.virtual_memory && options_.host_frames,
                          .host_frames_problem = {},
                          .queue_depth = options_.queue_depth,
                          .host_node = options_.host_node,
                          .uuid = options_.uuid};
}

Result<MemoryInfo> SimDriver::memory_info(DeviceId device) {
  TESSERA_TRY(check_device(device));
  MutexLock lock(mutex_);
  return memory_->frames().info(device);
}

Status SimDriver::synchronize(DeviceId device) {
  TESSERA_TRY(check_device(device));
  return engines_->synchronize(device);
}

Status SimDriver::synchronize(DeviceId device, Nanoseconds limit) {
  TESSERA_TRY(check_device(device));
  return engines_->synchronize(device, limit);
}

Status SimDriver::set_current_device(DeviceId device) {
  TESSERA_TRY(check_device(device));
  current_device_of_thread = {.serial = serial_, .device = device};
  return {};
}

DeviceId SimDriver::current_device() const {
  const CurrentDevice& chosen = current_device_of_thread;
  return chosen.serial == serial_ ? chosen.device : DeviceId(0);
}

// ---- addresses and frames ----------------------------------------------------------------------

Status SimDriver::check_virtual_memory() const {
  if (options_.virtual_memory) return {};
  return {Code::kNotSupported, "this machine has no virtual memory management", native::kNotSupported};
}

Result<Address> SimDriver::reserve(Bytes bytes, Bytes alignment, Address hint) {
  TESSERA_TRY(check_virtual_memory());
  MutexLock lock(mutex_);
  return memory_->reserve(bytes, alignment, hint);
}

Result<Address> SimDriver::reserve_beside_host(Bytes bytes) {
  TESSERA_TRY(check_virtual_memory());
  MutexLock lock(mutex_);
  return memory_->reserve_beside_host(bytes);
}

Status SimDriver::release(Address address, Bytes bytes) {
  MutexLock lock(mutex_);
  return memory_->release(address, bytes);
}

Result<FrameId> SimDriver::create_frame(DeviceId device, FrameLocation location, Bytes bytes) {
  TESSERA_TRY(check_virtual_memory());
  TESSERA_TRY(check_device(device));
  if (location == FrameLocation::kHost && !options_.host_frames) {
    return Status(Code::kNotSupported, "this machine has no host frames", native::kNotSupported);
  }
  const bool pins = location == FrameLocation::kHost;
  Result<FrameId> frame = FrameId();
  {
    MutexLock lock(mutex_);
    frame = memory_->create_frame(device, location, bytes);
    if (pins && frame.is_ok()) let_pins_take_time(bytes, true);
  }
  if (pins && frame.is_ok()) let_pins_take_time(bytes, false);
  if (frame.is_ok() && options_.calls.frame && !engines_->is_real()) engines_->pass(options_.calls.frame);
  return frame;
}

Status SimDriver::destroy_frame(FrameId frame) {
  MutexLock lock(mutex_);
  return memory_->frames().destroy(frame);
}

Status SimDriver::retain_frame(FrameId frame) {
  MutexLock lock(mutex_);
  return memory_->frames().retain(frame);
}

Status SimDriver::map(Address address, Bytes bytes, FrameId frame) {
  if (options_.watches_memory) {
    MutexLock lock(mutex_);
    TESSERA_TRY(memory_->map(address, bytes, frame));
  }
  if (engines_->is_real()) return {};
  if (options_.calls.copy_turn) engines_->await_idle(SimEngine::kOutbound, options_.calls.copy_turn);
  if (options_.calls.mapping) engines_->pass(options_.calls.mapping);
  return {};
}

Status SimDriver::set_access(Address address, Bytes bytes, DeviceId device) {
  if (!options_.watches_memory) return {};
  TESSERA_TRY(check_device(device));
  MutexLock lock(mutex_);
  return memory_->set_access(address, bytes, device);
}

Status SimDriver::unmap(Address address, Bytes bytes) {
  if (!options_.watches_memory) return {};
  MutexLock lock(mutex_);
  TESSERA_TRY(engines_->check_untouched(range_of(address, bytes), "unmap"));
  return memory_->unmap(address, bytes);
}

std::optional<SimFrameInfo> SimDriver::frame(FrameId frame) {
  MutexLock lock(mutex_);
  return memory_->frame(frame);
}

std::optional<SimMapping> SimDriver::mapping_at(Address address) {
  MutexLock lock(mutex_);
  return memory_->mapping_at(address);
}

Result<SimBytes> SimDriver::bytes_at(Address address, Bytes bytes, DeviceId device) const {
  if (!options_.watches_memory) return SimBytes();
  return memory_->bytes_at(address, bytes, device);
}

void SimDriver::touches(SimWork& work, const SimRange& range) const {
  if (options_.watches_memory) work.ranges.push_back(range);
}

// ---- host memory -------------------------------------------------------------------------------

Status SimDriver::check_host(const void* host, Bytes bytes) {
  const SimRange range = range_of(host, bytes);
  if (host == nullptr || range.end() < range.start) {
    return violation(fmt::format("{} is not host memory", range.to_string()));
  }
  if (memory_->overlaps_reserved(range)) {
    return violation(fmt::format("{} is not host memory: it is in a reserved range of the device", range.to_string()));
  }
  return {};
}

// In virtual time, work is carried out on the thread that advances time, and may need the lock.
void SimDriver::let_pins_take_time(Bytes bytes, bool locked) {
  const Nanoseconds time = options_.pinning.time_for(bytes);
  if (time && locked == engines_->is_real()) engines_->pass(time);
}

Status SimDriver::register_host(void* host, Bytes bytes) {
  {
    MutexLock lock(mutex_);
    TESSERA_TRY(check_host(host, bytes));
    TESSERA_TRY(pins_->add(range_of(host, bytes)));
    let_pins_take_time(bytes, true);
  }
  let_pins_take_time(bytes, false);
  return {};
}

Status SimDriver::unregister_host(void* host) {
  Bytes bytes;
  {
    MutexLock lock(mutex_);
    TESSERA_TRY_ASSIGN(const SimRange range, pins_->starting_at(host));
    TESSERA_TRY(engines_->check_untouched(range, "unregister_host"));
    pins_->remove(range);
    bytes = Bytes(range.bytes);
    let_pins_take_time(bytes, true);
  }
  let_pins_take_time(bytes, false);
  return {};
}

bool SimDriver::is_registered(const void* host, Bytes bytes) {
  MutexLock lock(mutex_);
  return pins_->holds(range_of(host, bytes));
}

// ---- streams and events ------------------------------------------------------------------------

StreamId SimDriver::meant(StreamId stream) {
  if (stream.value() <= 1) return engines_->legacy(current_device());
  if (stream.value() == 2) return engines_->thread_stream(current_device());
  return stream;
}

Result<SimDriver::Target> SimDriver::target(StreamId stream) {
  const StreamId known = meant(stream);
  // With one device nothing has to be looked up; queueing refuses a stream that does not exist.
  if (options_.devices == 1) return Target{.stream = known, .device = DeviceId()};
  TESSERA_TRY_ASSIGN(const DeviceId device, engines_->device_of(known));
  return Target{.stream = known, .device = device};
}

Result<StreamId> SimDriver::create_stream(DeviceId device) { return create_stream(device, false); }

Result<StreamId> SimDriver::create_stream(DeviceId device, bool blocking) {
  TESSERA_TRY(check_device(device));
  return engines_->add_stream(device, blocking);
}

Status SimDriver::destroy_stream(StreamId stream) { return engines_->remove_stream(stream); }

Result<DeviceId> SimDriver::device_of(StreamId stream) { return engines_->device_of(meant(stream)); }

Status SimDriver::synchronize(StreamId stream) { return engines_->synchronize(meant(stream)); }

Status SimDriver::synchronize(StreamId stream, Nanoseconds limit) {
  return engines_->synchronize(meant(stream), limit);
}

Status SimDriver::query(StreamId stream) { return engines_->query(meant(stream)); }

Result<EventId> SimDriver::create_event(DeviceId device) {
  TESSERA_TRY(check_device(device));
  return engines_->add_event(device);
}

Result<EventId> SimDriver::create_timed_event(DeviceId device) { return create_event(device); }

Status SimDriver::destroy_event(EventId event) { return engines_->remove_event(event); }

Status SimDriver::record_event(EventId event, StreamId stream) {
  engines_->wait_for_room(meant(stream));
  return engines_->record(event, meant(stream));
}

Status SimDriver::record_all(EventId event) { return engines_->record_all(event); }

Status SimDriver::wait_event(StreamId stream, EventId event) {
  engines_->wait_for_room(meant(stream));
  return engines_->wait_event(meant(stream), event);
}

Status SimDriver::query(EventId event) { return engines_->query(event); }

Status SimDriver::synchronize(EventId event) { return engines_->synchronize(event); }

Status SimDriver::synchronize(EventId event, Nanoseconds limit) { return engines_->synchronize(event, limit); }

Result<std::int64_t> SimDriver::elapsed(EventId start, EventId end) { return engines_->elapsed(start, end); }

// ---- work --------------------------------------------------------------------------------------

Status SimDriver::fill(Address to, std::uint8_t value, Bytes bytes, StreamId stream) {
  return fill_elements(to, value, 1, bytes.value(), stream);
}

Status SimDriver::fill_elements(Address to, std::uint32_t value, std::uint32_t width, std::uint64_t count,
                                StreamId stream) {
  if (width != 1 && width != 2 && width != 4) return violation(fmt::format("fill width {}", width));
  if (to.value() % width != 0 || count > UINT64_MAX / width) {
    return violation(fmt::format("fill of {} elements of {} bytes at {:#x}", count, width, to.value()));
  }
  if (count == 0) return {};
  const Bytes bytes(count * width);
  engines_->wait_for_room(meant(stream));
  TESSERA_TRY_ASSIGN(const Target on, target(stream));
  MutexLock lock(mutex_);
  TESSERA_TRY_ASSIGN(const SimBytes target, bytes_at(to, bytes, on.device));
  SimWork work = make_fill(target.bytes, value, width);
  touches(work, range_of(to, bytes));
  return engines_->submit(on.stream, SimEngine::kCompute, std::move(work)).status();
}

Status SimDriver::launch(const Launch& launch, StreamId stream) {
  engines_->wait_for_room(meant(stream));
  TESSERA_TRY_ASSIGN(const Target on, target(stream));
  TESSERA_TRY_ASSIGN(SimWork work, make_launch(launch));
  work.time = options_.kernel_time;
  if (options_.contents == SimContents::kNone) work.run = nullptr;
  // With the lock, so that no mapping can be removed between an unmap's check and its end.
  MutexLock lock(mutex_);
  return engines_->submit(on.stream, SimEngine::kCompute, std::move(work)).status();
}

Status SimDriver::occupy(StreamId stream, Nanoseconds time, std::span<const DeviceRange> ranges) {
  engines_->wait_for_room(meant(stream));
  TESSERA_TRY_ASSIGN(const Target on, target(stream));
  SimWork work;
  work.name = "a kernel";
  work.time = time;
  // What is not tracked is not in host memory, and no mapping is waited for.
  if (!options_.watches_memory) return engines_->submit(on.stream, SimEngine::kCompute, std::move(work)).status();
  Bytes all, in_host;
  std::vector<SimRange> stretches;
  MutexLock lock(mutex_);
  for (const DeviceRange& range : ranges) {
    TESSERA_TRY_ASSIGN(const SimBytes there, bytes_at(range.address, range.bytes, on.device));
    touches(work, range_of(range.address, range.bytes));
    all += range.bytes;
    stretches.insert(stretches.end(), there.in_host.begin(), there.in_host.end());
  }
  Nanoseconds linked;
  for (const SimRange& stretch : stretches) {
    SimWork reads;
    reads.name = "reads of host memory";
    reads.time = options_.inbound.time_for(Bytes(stretch.bytes));
    touches(reads, stretch);
    in_host += Bytes(stretch.bytes);
    linked += reads.time;
    TESSERA_TRY(engines_->submit(on.stream, SimEngine::kInbound, std::move(reads)).status());
  }
  if (in_host) work.time = time - std::min(linked, share_of(time, in_host, all));
  return engines_->submit(on.stream, SimEngine::kCompute, std::move(work)).status();
}

Status SimDriver::host_function(StreamId stream, std::function<void()> function) {
  engines_->wait_for_room(meant(stream));
  TESSERA_TRY_ASSIGN(const Target on, target(stream));
  SimWork work;
  work.name = "host_function";
  work.run = [function = std::move(function)](const SimWork&) {
    function();
    return Status();
  };
  return engines_->submit(on.stream, SimEngine::kHost, std::move(work)).status();
}

std::vector<std::string> SimDriver::leaks() {
  std::vector<std::string> lines = engines_->leaks();
  MutexLock lock(mutex_);
  std::ranges::move(memory_->leaks(), std::back_inserter(lines));
  std::ranges::move(pins_->leaks(), std::back_inserter(lines));
  return lines;
}

}  // namespace tessera
