// Blocks that the program maps at addresses that it reserves, which cuMemCreate, cuMemAddressReserve and cuMemMap ask
// for (MappableBlocks, PageManager).
//
// Thread safety: every call may be made from any thread.
#pragma once

#include <optional>

#include "api/device_heaps.hpp"
#include "api/oom_explainer.hpp"
#include "api/tag_table.hpp"
#include "api/trace_recorder.hpp"

namespace tessera {

class MappableMemory {
 public:
  // REQUIRES: all of it outlives it.
  MappableMemory(DeviceHeaps& heaps, TraceRecorder& recorder, const TagTable& tags, const OomExplainer& oom)
      : heaps_(heaps), recorder_(recorder), tags_(tags), oom_(oom) {}

  // Errors: kOutOfMemory, also for a block that never fits into the device: no launch could use it.
  Result<Address> create(DeviceId device, Bytes bytes);
  // Errors of these: kNotFound, and those of MappableBlocks.
  Status destroy(Address address);
  // Nothing: back to where it was created.
  Result<Address> move(Address address, std::optional<Address> to);
  Result<Address> reserve(DeviceId device, Bytes bytes);
  Status unreserve(Address address);

 private:
  DeviceHeaps& heaps_;
  TraceRecorder& recorder_;
  const TagTable& tags_;
  const OomExplainer& oom_;
};

}  // namespace tessera
