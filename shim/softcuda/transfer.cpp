#include "transfer.hpp"

#include <cstring>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "call.hpp"

namespace tessera::softcuda {
namespace {

enum class Memory : std::uint8_t { kInvalid, kHost, kDevice };

Memory memory_at(Machine& machine, Place place, Bytes bytes) {
  const Address address(place.address);
  const auto range = machine.ranges.find(address);
  if (!range) {
    const bool host = place.end == End::kAny && place.address != 0;
    return host ? Memory::kHost : Memory::kInvalid;
  }
  if (range->kind == RangeKind::kReservation) {
    return is_mapped(machine, address, bytes) ? Memory::kDevice : Memory::kInvalid;
  }
  if (range->kind == RangeKind::kDevice) {
    return range->contains(address, bytes) ? Memory::kDevice : Memory::kInvalid;
  }
  // Pinned memory may be part of a larger piece of host memory, unless device memory was requested.
  const bool inside = place.end == End::kAny || range->contains(address, bytes);
  return inside ? Memory::kHost : Memory::kInvalid;
}

void* host_at(std::uint64_t address) { return reinterpret_cast<void*>(address); }

// A module's variables are device memory located in host memory: copies and sets of them are queued like any others.
std::optional<RangeKind> kind_at(Machine& machine, Place place) {
  const auto range = machine.ranges.find(Address(place.address));
  return range ? std::optional(range->kind) : std::nullopt;
}

// Copies between variables and host memory. Pageable memory is read at once, and written before the call returns.
CUresult copy_in_host(Machine& machine, Place to, Place from, std::uint64_t count, StreamId stream) {
  const auto target = kind_at(machine, to), source = kind_at(machine, from);
  if (target != RangeKind::kGlobal && source != RangeKind::kGlobal) {
    // Host-to-host copies are synchronous in CUDA too.
    SOFTCUDA_TRY(machine.driver.synchronize(stream));
    std::memmove(host_at(to.address), host_at(from.address), count);
    return CUDA_SUCCESS;
  }
  std::function<void()> copy = [=] { std::memmove(host_at(to.address), host_at(from.address), count); };
  if (!source) {
    const auto* const begin = static_cast<const char*>(host_at(from.address));
    copy = [to, staged = std::vector<char>(begin, begin + count)] {
      std::memcpy(host_at(to.address), staged.data(), staged.size());
    };
  }
  SOFTCUDA_TRY(machine.driver.host_function(stream, std::move(copy)));
  return target ? CUDA_SUCCESS : to_result(machine.driver.synchronize(stream));
}

template <class Element>
void set_host(std::uint64_t to, std::uint32_t value, std::uint64_t count) {
  auto* const target = static_cast<Element*>(host_at(to));
  for (std::uint64_t i = 0; i < count; ++i) target[i] = static_cast<Element>(value);
}

}  // namespace

bool is_memory(Machine& machine, Place place, Bytes bytes) {
  return memory_at(machine, place, bytes) != Memory::kInvalid;
}

bool is_mapped(Machine& machine, Address address, Bytes bytes) {
  const Address end = address + bytes;
  for (Address at = address; at < end;) {
    const auto mapping = machine.driver.mapping_at(at);
    if (!mapping || mapping->access == 0) return false;
    at = mapping->address + mapping->bytes;
  }
  return true;
}

CUresult copy_bytes(Machine& machine, Place to, Place from, std::uint64_t count, StreamId stream) {
  if (count == 0) return CUDA_SUCCESS;
  const Bytes bytes(count);
  const Memory target = memory_at(machine, to, bytes);
  const Memory source = memory_at(machine, from, bytes);
  if (target == Memory::kInvalid || source == Memory::kInvalid) return CUDA_ERROR_INVALID_VALUE;
  SimDriver& driver = machine.driver;
  const bool to_device = target == Memory::kDevice;
  const bool from_device = source == Memory::kDevice;
  if (to_device && from_device) {
    return to_result(driver.copy(Address(to.address), Address(from.address), bytes, stream));
  }
  if (to_device) {
    return to_result(driver.copy_in(Address(to.address), host_at(from.address), bytes, stream));
  }
  if (from_device) {
    return to_result(driver.copy_out(host_at(to.address), Address(from.address), bytes, stream));
  }
  return copy_in_host(machine, to, from, count, stream);
}

CUresult set_elements(Machine& machine, std::uint64_t to, std::uint32_t value, std::uint32_t width, std::uint64_t count,
                      StreamId stream) {
  if (to % width != 0) return CUDA_ERROR_INVALID_VALUE;
  if (count == 0) return CUDA_SUCCESS;
  if (count > UINT64_MAX / width) return CUDA_ERROR_INVALID_VALUE;
  switch (memory_at(machine, {to, End::kDevice}, Bytes(count * width))) {
    case Memory::kInvalid: return CUDA_ERROR_INVALID_VALUE;
    case Memory::kDevice: return to_result(machine.driver.fill_elements(Address(to), value, width, count, stream));
    case Memory::kHost: break;
  }
  const auto set = [=] {
    if (width == 1) set_host<std::uint8_t>(to, value, count);
    if (width == 2) set_host<std::uint16_t>(to, value, count);
    if (width == 4) set_host<std::uint32_t>(to, value, count);
  };
  if (kind_at(machine, {to, End::kDevice}) == RangeKind::kGlobal) {
    return to_result(machine.driver.host_function(stream, set));
  }
  SOFTCUDA_TRY(machine.driver.synchronize(stream));
  set();
  return CUDA_SUCCESS;
}

}  // namespace tessera::softcuda
