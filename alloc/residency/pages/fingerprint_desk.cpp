#include "residency/pages/fingerprint_desk.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "base/log.hpp"

namespace tessera {

FingerprintDesk::FingerprintDesk(Driver& driver, DeviceId device, bool wanted)
    : driver_(driver), device_(device), open_(wanted), meter_(driver, device) {}

FingerprintDesk::~FingerprintDesk() {
  if (results_ == nullptr) return;
  const Status status = driver_.unregister_host(results_);
  // Memory that the device may still use is leaked.
  if (status.is_ok()) ::munmap(results_, kBatches * kBatchParts * sizeof(Fingerprint));
  if (!status.is_ok()) log_line(LogLevel::kDebug, "memory of fingerprints was not released: {}", status.to_string());
}

bool FingerprintDesk::make_memory() {
  constexpr std::size_t kSize = kBatches * kBatchParts * sizeof(Fingerprint);
  void* const memory = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  const Status status = driver_.register_host(memory, Bytes(kSize));
  if (status.is_ok()) {
    results_ = static_cast<Fingerprint*>(memory);
    return true;
  }
  ::munmap(memory, kSize);
  log_line(LogLevel::kInfo, "page fingerprints disabled: {}", status.to_string());
  return false;
}

void FingerprintDesk::prepare() {
  if (open_ && results_ == nullptr) open_ = make_memory();
}

std::optional<FingerprintDesk::Place> FingerprintDesk::queue(std::span<const DeviceRange> ranges, StreamId stream) {
  prepare();
  if (!open_) return std::nullopt;
  const auto free = std::ranges::find(ranges_out_, 0U);
  if (free == ranges_out_.end()) return std::nullopt;
  const auto index = static_cast<std::size_t>(free - ranges_out_.begin());
  Bytes bytes;
  for (const DeviceRange& range : ranges) bytes += range.bytes;
  meter_.before(stream);
  const Status status = driver_.fingerprint(device_, ranges, batch(index), stream);
  meter_.after(stream, status.is_ok() ? bytes : Bytes());
  if (status.code() == Code::kNotSupported) {
    open_ = false;
    log_line(LogLevel::kInfo, "page fingerprints disabled: {}", status.to_string());
  }
  if (!status.is_ok()) return std::nullopt;
  *free = static_cast<std::uint32_t>(ranges.size());
  return static_cast<Place>(index * kBatchParts);
}

Fingerprint FingerprintDesk::read(Place place, Bytes bytes) {
  Fingerprint sum;
  for (Place part = place; part < after(place, bytes); ++part) {
    sum.low += results_[part].low;
    sum.high += results_[part].high;
  }
  drop(place);
  return sum;
}

void FingerprintDesk::drop(Place place) { --ranges_out_[place / kBatchParts]; }

}  // namespace tessera
