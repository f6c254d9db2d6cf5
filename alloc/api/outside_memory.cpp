#include "api/outside_memory.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/size_text.hpp"
#include "tessera/interpose.h"

namespace tessera {
namespace {

constexpr Bytes kLeast{TESSERA_OUTSIDE_LEAST};
constexpr std::uint64_t kShareOfDevice = 8;

// "virtual_memory" is "virtual memory" in a sentence.
std::string with_blanks(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

}  // namespace

bool OutsideMemory::set(const Report& report) {
  const MutexLock lock(mutex_);
  const std::pair key(report.kind, report.device);
  if (!parts_.contains(key) && parts_.size() >= kMostParts) return false;
  Part& part = parts_[key];
  part.kind = report.kind;
  part.remedy = report.remedy;
  part.first_call = report.first_call;
  part.imported = report.imported;
  part.bytes = report.bytes;
  part.peak = std::max(part.peak, report.bytes);
  const Bytes now = counted(std::nullopt);
  peak_ = std::max(peak_, now);
  if (said_ || now < std::max(kLeast, next_check_)) return false;
  next_check_ = now + now / 8;
  return true;
}

Bytes OutsideMemory::counted(std::optional<DeviceId> device) const {
  Bytes sum;
  for (const auto& [key, part] : parts_) {
    if (!part.imported && (!device || key.second == *device)) sum += part.bytes;
  }
  return sum;
}

std::string OutsideMemory::line(const char* what, Bytes outside, Bytes in_heap) const {
  const Part* most = nullptr;
  for (const auto& [key, part] : parts_) {
    if (!part.imported && (most == nullptr || part.peak > most->peak)) most = &part;
  }
  return fmt::format(
      "{} {} of device memory outside the heap, which does not move, and {} in it; most is {} (first {}). "
      "What moves it: {}",
      what, rounded_size(outside), rounded_size(in_heap), with_blanks(most->kind), most->first_call, most->remedy);
}

std::optional<std::string> OutsideMemory::line_if_due(DeviceId device, Bytes in_heap, Bytes of_device) {
  const MutexLock lock(mutex_);
  const Bytes outside = counted(device);
  if (said_ || outside <= in_heap || outside < std::max(kLeast, of_device / kShareOfDevice)) return std::nullopt;
  said_ = true;
  return line("the program has", outside, in_heap);
}

std::optional<std::string> OutsideMemory::line_at_end(Bytes peak_in_heap) {
  const MutexLock lock(mutex_);
  if (said_ || peak_ <= peak_in_heap || peak_ < kLeast) return std::nullopt;
  said_ = true;
  return line("the program had at most", peak_, peak_in_heap);
}

OutsideMemory::Figures OutsideMemory::figures() const {
  const MutexLock lock(mutex_);
  Figures figures{counted(std::nullopt), peak_, {}};
  for (const auto& [key, part] : parts_) {  // in order of kind
    if (figures.parts.empty() || figures.parts.back().kind != part.kind) {
      figures.parts.push_back(part);
    } else {
      figures.parts.back().bytes += part.bytes;
      figures.parts.back().peak += part.peak;
    }
  }
  return figures;
}

}  // namespace tessera
