// Queues fingerprints on the device, and owns the host memory that receives them.
//
// The memory is bounded, and registered by prepare() or at the first use. It is handed out in batches; a batch is free
// again when the last of its pages was read or dropped.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "driver/driver.hpp"
#include "residency/pages/fingerprint_worth.hpp"
#include "residency/pages/link_meter.hpp"

namespace tessera {

class FingerprintDesk {
 public:
  using Place = std::uint32_t;  // of the first part of a range
  static constexpr Place kNowhere = ~Place{0};
  static constexpr Bytes kMostBytes = 64_MiB;  // per batch

  // `wanted`: false = no fingerprint is ever taken.
  FingerprintDesk(Driver& driver, DeviceId device, bool wanted);
  // REQUIRES: the device has finished the fingerprints queued here.
  ~FingerprintDesk();
  FingerprintDesk(const FingerprintDesk&) = delete;
  FingerprintDesk& operator=(const FingerprintDesk&) = delete;

  // Registers the memory now, so that no later call has to.
  void prepare();
  // As FingerprintOdds, compared with copies at this rate.
  bool pays_to_ask(double copy_rate) { return open_ && odds_.pays_to_ask(meter_.rate(), copy_rate); }
  bool pays_to_take(double copy_rate) { return open_ && odds_.pays_to_take(meter_.rate(), copy_rate); }
  void note(Bytes bytes, bool same) { odds_.note(bytes, same); }
  // Queues the fingerprints of all ranges in stream order. Returns the place of the first; each next one begins where
  // the one before it ends. Nothing where the device does not support it or refuses, or all batches are in use.
  // REQUIRES: 1 to kMostFingerprints ranges of at most kMostBytes together, and the same stream in all calls.
  std::optional<Place> queue(std::span<const DeviceRange> ranges, StreamId stream);
  static Place after(Place place, Bytes bytes) { return place + static_cast<Place>(bytes / kFingerprintPart); }
  // Reads and releases the fingerprint at `place`. REQUIRES: the device has finished it.
  Fingerprint read(Place place, Bytes bytes);
  // Releases it unread. Its work may be in flight: later work is behind it on the stream.
  void drop(Place place);

 private:
  static constexpr std::size_t kBatches = 16;
  static constexpr std::size_t kBatchParts = kMostBytes / kFingerprintPart;

  bool make_memory();
  Fingerprint* batch(std::size_t index) const { return results_ + index * kBatchParts; }

  Driver& driver_;
  const DeviceId device_;
  bool open_;
  LinkMeter meter_;
  FingerprintOdds odds_;
  Fingerprint* results_ = nullptr;                    // registered until the destructor
  std::array<std::uint32_t, kBatches> ranges_out_{};  // by batch
};

}  // namespace tessera
