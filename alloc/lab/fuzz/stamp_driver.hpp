// A driver over the simulated device with copies that carry stamps; it records every illegal call.
//
// The simulated device runs without contents; this driver keeps its own records of which frame is mapped where, and
// moves stamps in stream order, at both ends of each copy. A source that changes while it is copied leaves torn bytes
// behind. It can also delay copies, a fault without an error.
//
// Thread safety: none; virtual time has one thread.
//
// Invariants: the first violation is kept; the allocator gets no error for it, unless the simulated device itself
// refused the call.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "lab/fuzz/stamp_memory.hpp"
#include "sim/sim_driver.hpp"

namespace tessera {

// What a kernel of a fuzz program does with one block.
struct StampUse {
  Address address;
  Bytes bytes;
  Stamp expected = 0;  // 0: its contents are undefined and not checked
  Stamp leaves = 0;    // 0: it only reads
};

class StampDriver final : public Driver {
 public:
  // REQUIRES: both outlive it; `sim` runs in virtual time and without contents.
  StampDriver(SimDriver& sim, StampMemory& memory) : sim_(sim), memory_(memory) {}

  // A kernel that checks stamps at its start and at its end, and leaves new ones. Its only errors are violations.
  Status run_kernel(StreamId stream, Nanoseconds time, std::vector<StampUse> uses);
  // The same without a duration, for a kernel that may find its range unmapped: false then, and it has done nothing.
  // Waits for the stream.
  Result<bool> try_kernel(StreamId stream, const StampUse& use);
  // The next `count` copies take `time` longer.
  void delay_copies(int count, Nanoseconds time);
  // The first mistake of the allocator, or of the device below it.
  const std::optional<std::string>& violation() const { return violation_; }
  void note_violation(std::string what);

  int device_count() override { return sim_.device_count(); }
  Result<DeviceProperties> properties(DeviceId device) override;
  Result<MemoryInfo> memory_info(DeviceId device) override;
  Status synchronize(DeviceId device) override;
  Status synchronize(DeviceId device, Nanoseconds limit) override;
  Result<Address> reserve(Bytes bytes, Bytes alignment, Address hint = {}) override;
  Status release(Address address, Bytes bytes) override;
  Result<FrameId> create_frame(DeviceId device, FrameLocation location, Bytes bytes) override;
  Status destroy_frame(FrameId frame) override;
  Status map(Address address, Bytes bytes, FrameId frame) override;
  Status set_access(Address address, Bytes bytes, DeviceId device) override;
  Status unmap(Address address, Bytes bytes) override;
  Status register_host(void* host, Bytes bytes) override;
  Status unregister_host(void* host) override;
  Result<StreamId> create_stream(DeviceId device) override;
  Status destroy_stream(StreamId stream) override;
  Status synchronize(StreamId stream) override;
  Status synchronize(StreamId stream, Nanoseconds limit) override;
  Status wait_event(StreamId stream, EventId event) override;
  Result<EventId> create_event(DeviceId device) override;
  Result<EventId> create_timed_event(DeviceId device) override;
  Status destroy_event(EventId event) override;
  Status record_event(EventId event, StreamId stream) override;
  Status query(EventId event) override;
  Status synchronize(EventId event) override;
  Status synchronize(EventId event, Nanoseconds limit) override;
  Result<std::int64_t> elapsed(EventId start, EventId end) override;
  Status copy_in(Address to, const void* from, Bytes bytes, StreamId stream) override;
  Status copy_out(void* to, Address from, Bytes bytes, StreamId stream) override;
  Status copy_all(CopyWay way, std::span<const HostCopy> copies, StreamId stream) override;
  // Tessera copies between devices, and to and from host frames; a copy within one device, and a fill, are violations
  // here.
  Status copy(Address to, Address from, Bytes bytes, StreamId stream) override;
  Status fill(Address to, std::uint8_t value, Bytes bytes, StreamId stream) override;
  Status launch(const Launch& launch, StreamId stream) override;
  Status fingerprint(DeviceId device, std::span<const DeviceRange> ranges, Fingerprint* to, StreamId stream) override;

 private:
  // Where the memory of a host frame is, which belongs to no device.
  static constexpr DeviceId kHostFrames{~std::uint64_t{0}};
  struct Frame {
    std::uint64_t number = 0;  // assigned by this driver
    DeviceId device;
  };
  struct Mapping {
    Bytes bytes;
    Frame frame;
  };
  struct Piece {
    Place place;
    Bytes bytes;
    DeviceId device;  // of a frame; unused for host memory
  };
  // One end of a copy: host memory, or device addresses.
  using Side = std::variant<Place, Address>;
  struct CopyStep {
    Piece to, from;
    StampMemory::Contents seen{};  // in `from` when the copy began
  };

  // Records a call that no correct program makes; returns the status.
  Status noted(const char* call, Status status);
  // The frames under a range, in order, up to an address where nothing is mapped.
  std::vector<Piece> pieces_until_gap(Address address, Bytes bytes) const;
  // The same; a gap is a violation.
  std::vector<Piece> pieces(const char* by, Address address, Bytes bytes);
  std::vector<Piece> pieces(const Side& side, Bytes bytes);
  // Splits a copy so that both ends of each step are within one frame.
  std::vector<CopyStep> copy_steps(const Side& to, const Side& from, Bytes bytes);
  // A copy of `bytes` that carries stamps along; `submit` queues the device's copy.
  template <class Submit>
  Status carry(const Side& to, const Side& from, Bytes bytes, StreamId stream, Submit submit);
  Fingerprint fingerprint_of(Address address, Bytes bytes);
  void check_uses(const std::vector<StampUse>& uses);
  void begin_kernel(const std::vector<StampUse>& uses);
  void end_kernel(const std::vector<StampUse>& uses);
  Status delay(StreamId stream);

  SimDriver& sim_;
  StampMemory& memory_;
  std::map<std::uint64_t, Mapping> mappings_;  // by address
  std::unordered_map<FrameId, Frame> frames_;
  std::uint64_t last_frame_ = 0;
  std::uint64_t torn_fingerprints_ = 0;
  int delayed_copies_ = 0;
  Nanoseconds delay_{};
  std::optional<std::string> violation_;
};

}  // namespace tessera
