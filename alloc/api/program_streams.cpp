#include "api/program_streams.hpp"

namespace tessera {

Status ProgramStreams::retire(StreamId stream) {
  for (DeviceHeap* const heap : heaps_.all()) TESSERA_TRY(heap->blocks().retire(stream));
  return {};
}

std::uint64_t ProgramStreams::before_wait(DeviceId device) const {
  DeviceHeap* const heap = heaps_.made(device);
  return heap == nullptr ? 0 : heap->residency().before_wait().value();
}

void ProgramStreams::note_waited(DeviceId device, std::optional<StreamId> stream, std::uint64_t before) {
  DeviceHeap* const heap = heaps_.made(device);
  if (heap != nullptr) heap->residency().note_over(stream, Epoch(before));
}

}  // namespace tessera
