// Fingerprints under way: queues them on the device, and has the host memory that they come to.
//
// The memory is registered by prepare(), or at the first use, and bounded; it is handed out by batches, each of which is free
// again when the last of its pages was read or dropped.
//
// Thread safety: none; the engine's lock.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "driver/driver.hpp"
#include "residency/fingerprint_worth.hpp"
#include "residency/link_meter.hpp"

namespace tessera {

class FingerprintDesk {
 public:
  using Place = std::uint32_t;  // of a range's first part
  static constexpr Place kNowhere = ~Place{0};
  static constexpr Bytes kMostBytes = 64_MiB;  // of one batch

  // `wanted`: else none is ever taken.
  FingerprintDesk(Driver& driver, DeviceId device, bool wanted);
  // REQUIRES: the device has no more work of it.
  ~FingerprintDesk();
  FingerprintDesk(const FingerprintDesk&) = delete;
  FingerprintDesk& operator=(const FingerprintDesk&) = delete;

  // Registers its memory now, so that no later call does.
  void prepare();
  // As FingerprintOdds has it, beside copies of this rate.
  bool pays_to_ask(double copy_rate) { return open_ && odds_.pays_to_ask(meter_.rate(), copy_rate); }
  bool pays_to_take(double copy_rate) { return open_ && odds_.pays_to_take(meter_.rate(), copy_rate); }
  void note(Bytes bytes, bool same) { odds_.note(bytes, same); }
  // Those of all ranges, in the order of the stream. The first one's place; the next begins where it ends.
  // Nothing where the device cannot, refuses, or all batches are out. REQUIRES: 1 to kMostFingerprints
  // ranges of at most kMostBytes together, and all calls name one stream.
  std::optional<Place> queue(std::span<const DeviceRange> ranges, StreamId stream);
  static Place after(Place place, Bytes bytes) { return place + static_cast<Place>(bytes / kFingerprintPart); }
  // That of the range at this place, which is over. REQUIRES: it has been made.
  Fingerprint read(Place place, Bytes bytes);
  // As if it had been read; its work may be under way, since what follows is behind it on the stream.
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
  Fingerprint* results_ = nullptr;  // registered, until the destructor
  std::array<std::uint32_t, kBatches> ranges_out_{};  // by batch
};

}  // namespace tessera
