#include "device_copies.hpp"

#include <optional>

#include "call.hpp"

namespace tessera::softcuda {
namespace {

std::optional<DeviceId> device_of(Machine& machine, Place place) {
  const auto range = machine.ranges.find(Address(place.address));
  if (!range) return std::nullopt;
  if (range->kind == RangeKind::kDevice) return range->context->device;
  if (range->kind != RangeKind::kReservation) return std::nullopt;
  const auto mapping = machine.driver.mapping_at(Address(place.address));
  if (!mapping || mapping->frame.location != FrameLocation::kDevice) return std::nullopt;
  return mapping->frame.device;
}

// Makes future work on `later` wait for work queued so far on `earlier`. `own` is the current device afterwards.
Status put_behind(SimDriver& driver, DeviceId later, DeviceId earlier, DeviceId own) {
  TESSERA_TRY_ASSIGN(const EventId event, driver.create_event(earlier));
  Status status = driver.set_current_device(earlier);
  if (status.is_ok()) status = driver.record_event(event, kLegacyStream);
  if (status.is_ok()) status = driver.set_current_device(later);
  if (status.is_ok()) status = driver.wait_event(kLegacyStream, event);
  const Status back = driver.set_current_device(own);
  const Status gone = driver.destroy_event(event);
  if (!status.is_ok()) return status;
  return back.is_ok() ? gone : back;
}

}  // namespace

CUresult copy_in_order(Machine& machine, const Context& context, Place to, Place from, std::uint64_t bytes,
                       StreamId stream) {
  if (stream != kLegacyStream) return copy_bytes(machine, to, from, bytes, stream);
  const auto target = device_of(machine, to);
  const auto source = device_of(machine, from);
  const DeviceId own = context.device;
  if (!target || !source || *target == *source) return copy_bytes(machine, to, from, bytes, stream);
  for (const DeviceId device : {*target, *source}) {
    if (device != own) SOFTCUDA_TRY(put_behind(machine.driver, own, device, own));
  }
  SOFTCUDA_TRY(copy_bytes(machine, to, from, bytes, stream));
  for (const DeviceId device : {*target, *source}) {
    if (device != own) SOFTCUDA_TRY(put_behind(machine.driver, device, own, own));
  }
  return CUDA_SUCCESS;
}

}  // namespace tessera::softcuda
