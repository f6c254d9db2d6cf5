#include "api/driver_memory.hpp"

#include <algorithm>

namespace tessera {

Status DriverMemory::trim() {
  Status result;
  for (DeviceHeap* const heap : heaps_.all()) {
    if (Status status = heap->blocks().trim(); !status.is_ok()) result = status;
    heap->residency().trim();
  }
  lower_.host_memory().trim();
  return result;
}

Status DriverMemory::trim_device(DeviceId device, Bytes keep) {
  DeviceHeap* const heap = heaps_.made(device);
  return heap == nullptr ? Status() : heap->residency().yields().trim_device(keep);
}

Status DriverMemory::trim_device_by(DeviceId device, Bytes bytes) {
  DeviceHeap* const heap = heaps_.made(device);
  if (heap == nullptr) return {};
  const TierUsage usage = heap->tier().usage();
  const Bytes held = usage.used + usage.spare;
  return heap->residency().yields().trim_device(held - std::min(held, bytes));
}

Result<Bytes> DriverMemory::begin_yield(DeviceId device, Bytes wanted) {
  DeviceHeap* const heap = heaps_.made(device);
  if (heap == nullptr) return Bytes();
  lower_.trim_loans();
  TESSERA_TRY_ASSIGN(const Bytes yielded, heap->residency().yields().begin(wanted));
  if (!yielded) heap->residency().yields().end();
  heaps_.kick_pump(*heap);
  return yielded;
}

void DriverMemory::end_yield(DeviceId device) {
  DeviceHeap* const heap = heaps_.made(device);
  if (heap != nullptr) heap->residency().yields().end();
}

Result<Bytes> DriverMemory::yield_host() {
  for (DeviceHeap* const heap : heaps_.all()) TESSERA_TRY(heap->residency().yields().drop_host_copies());
  return lower_.host().yield();
}

void DriverMemory::expect_more() {
  for (DeviceHeap* const heap : heaps_.all()) heap->tier().expect_more();
}

}  // namespace tessera
