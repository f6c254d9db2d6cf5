#include "driver/sim_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include <fmt/format.h>

#include "driver/native_codes.hpp"

namespace tessera {
namespace {

// Far from where programs and libraries lie, so that an integer which happens to look like a device
// address is rare, as it is on a GPU.
constexpr std::uint64_t kFirstHint = 0x6e55'0000'0000;

Status violation(std::string message) {
  return {Code::kDriver, std::move(message), native::kInvalidValue};
}

Status no_memory(std::string_view what, const SimRange& range) {
  return {Code::kOutOfMemory,
          fmt::format("{} {}: {}", what, range.to_string(), std::strerror(errno)),
          native::kOutOfMemory};
}

void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }

void* map_nothing(std::uint64_t hint, std::uint64_t bytes, int fixed) {
  return ::mmap(pointer(hint), bytes, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
}

}  // namespace

SimMemory::SimMemory(const SimOptions& options)
    : options_(options), frames_(options), next_hint_(kFirstHint) {}

SimMemory::~SimMemory() {
  for (const auto& [start, bytes] : ranges_) ::munmap(pointer(start), bytes);
}

Status SimMemory::check_shape(std::string_view action, const SimRange& range) const {
  const std::uint64_t unit = options_.granularity.value();
  if (range.bytes == 0 || range.start % unit != 0 || range.bytes % unit != 0 ||
      range.end() < range.start) {
    return violation(fmt::format("{} {}: not whole multiples of the granularity, {:#x}", action,
                                 range.to_string(), unit));
  }
  return {};
}

// ---- ranges ----------------------------------------------------------------------------------

Result<Address> SimMemory::reserve(Bytes bytes, Bytes alignment) {
  const std::uint64_t unit = options_.granularity.value();
  const std::uint64_t align = std::max(alignment.value(), unit);
  TESSERA_TRY(check_shape("reserve", {0, bytes.value()}));
  if ((align & (align - 1)) != 0) {
    return violation(fmt::format("reserve: alignment {:#x} is not a power of two", align));
  }
  // One alignment more than asked, so that an aligned start is inside wherever the system puts it.
  const std::uint64_t slack = bytes.value() + align;
  const SimRange wanted{next_hint_, slack};
  if (slack < align) return violation("reserve: more bytes than there are addresses");
  void* const got = map_nothing(next_hint_, slack, 0);
  if (got == MAP_FAILED) return no_memory("reserve", wanted);
  const auto first = reinterpret_cast<std::uint64_t>(got);
  const std::uint64_t start = (first + align - 1) / align * align;
  if (start > first) ::munmap(got, start - first);
  const std::uint64_t end = start + bytes.value();
  if (end < first + slack) ::munmap(pointer(end), first + slack - end);
  if (first == next_hint_) next_hint_ = end;
  ranges_[start] = bytes.value();
  return Address(start);
}

Status SimMemory::release(Address address, Bytes bytes) {
  const SimRange range = range_of(address, bytes);
  const auto found = ranges_.find(range.start);
  if (found == ranges_.end() || found->second != range.bytes) {
    return violation(fmt::format("release {}, which reserve never gave", range.to_string()));
  }
  const auto mapping = mappings_.lower_bound(range.start);
  if (mapping != mappings_.end() && mapping->first < range.end()) {
    return violation(fmt::format("release {} while frame {:#x} is mapped at {:#x}",
                                 range.to_string(), mapping->second.frame.value(), mapping->first));
  }
  if (::munmap(pointer(range.start), range.bytes) != 0) return no_memory("release", range);
  ranges_.erase(found);
  return {};
}

bool SimMemory::overlaps_reserved(const SimRange& range) const {
  auto next = ranges_.lower_bound(range.end());
  if (next == ranges_.begin()) return false;
  --next;
  return SimRange{next->first, next->second}.overlaps(range);
}

// ---- frames and mappings ---------------------------------------------------------------------

Result<FrameId> SimMemory::create_frame(DeviceId device, FrameLocation location, Bytes bytes) {
  TESSERA_TRY(check_shape("create_frame", {0, bytes.value()}));
  return frames_.create(device, location, bytes);
}

Status SimMemory::map(Address address, Bytes bytes, FrameId frame) {
  const SimRange range = range_of(address, bytes);
  TESSERA_TRY(check_shape("map", range));
  const SimFrames::Frame* const record = frames_.find(frame);
  if (record == nullptr || record->owners == 0) {
    return {Code::kDriver, fmt::format("map of frame {:#x}, which is not there", frame.value()),
            native::kInvalidHandle};
  }
  if (record->bytes != bytes) {
    return violation(fmt::format("map {}: frame {:#x} has {:#x} bytes", range.to_string(),
                                 frame.value(), record->bytes.value()));
  }
  const auto after = ranges_.upper_bound(range.start);
  if (after == ranges_.begin() ||
      std::prev(after)->first + std::prev(after)->second < range.end()) {
    return violation(fmt::format("map {}: not within one reserved range", range.to_string()));
  }
  const auto next = mappings_.lower_bound(range.end());
  if (next != mappings_.begin()) {
    const auto& [start, other] = *std::prev(next);
    if (start + other.bytes > range.start) {
      return violation(fmt::format("map of frame {:#x} at {}: frame {:#x} is mapped at {:#x}",
                                   frame.value(), range.to_string(), other.frame.value(), start));
    }
  }
  mappings_[range.start] = Mapping{.bytes = range.bytes, .frame = frame};
  frames_.add_mapping(frame);
  return {};
}

Result<SimMemory::Mappings::iterator> SimMemory::covering(std::string_view action,
                                                          const SimRange& range) {
  const auto first = mappings_.find(range.start);
  std::uint64_t reached = range.start;
  for (auto at = first; at != mappings_.end() && at->first == reached && reached < range.end();
       ++at) {
    reached += at->second.bytes;
  }
  if (reached == range.end()) return first;
  const auto mapping = mapping_at(Address(reached > range.end() ? range.end() : reached));
  if (mapping) {
    return violation(fmt::format("{} {} takes a part of the mapping {}", action, range.to_string(),
                                 range_of(mapping->address, mapping->bytes).to_string()));
  }
  return violation(
      fmt::format("{} {}: nothing is mapped at {:#x}", action, range.to_string(), reached));
}

Status SimMemory::set_access(Address address, Bytes bytes, DeviceId device) {
  const SimRange range = range_of(address, bytes);
  TESSERA_TRY(check_shape("set_access", range));
  TESSERA_TRY_ASSIGN(const auto first, covering("set_access", range));
  for (auto at = first; at != mappings_.end() && at->first < range.end(); ++at) {
    const Mapping& mapping = at->second;
    if (mapping.access != 0) continue;
    if (frames_.show(mapping.frame, pointer(at->first))) continue;
    Status status = no_memory("set_access", range);
    // What was opened until the failure is closed again.
    for (auto opened = first; opened != std::next(at); ++opened) {
      if (opened->second.access == 0) map_nothing(opened->first, opened->second.bytes, MAP_FIXED);
    }
    return status;
  }
  for (auto at = first; at != mappings_.end() && at->first < range.end(); ++at) {
    at->second.access |= std::uint64_t{1} << device.value();
  }
  return {};
}

Status SimMemory::unmap(Address address, Bytes bytes) {
  const SimRange range = range_of(address, bytes);
  TESSERA_TRY(check_shape("unmap", range));
  TESSERA_TRY_ASSIGN(auto mapping, covering("unmap", range));
  for (auto at = mapping; at != mappings_.end() && at->first < range.end(); ++at) {
    if (at->second.access == 0) continue;
    if (!frames_.hide(at->second.frame, pointer(at->first))) return no_memory("unmap", range);
  }
  // Until here the bytes can still be seen, only more slowly, so that a failure changes nothing.
  if (map_nothing(range.start, range.bytes, MAP_FIXED) == MAP_FAILED) {
    return no_memory("unmap", range);
  }
  while (mapping != mappings_.end() && mapping->first < range.end()) {
    frames_.remove_mapping(mapping->second.frame);
    mapping = mappings_.erase(mapping);
  }
  return {};
}

// ---- questions -------------------------------------------------------------------------------

SimMemory::Mappings::const_iterator SimMemory::holding(std::uint64_t address) const {
  const auto after = mappings_.upper_bound(address);
  if (after == mappings_.begin()) return mappings_.end();
  const auto before = std::prev(after);
  return address - before->first < before->second.bytes ? before : mappings_.end();
}

std::optional<SimFrameInfo> SimMemory::frame(FrameId frame) const {
  const SimFrames::Frame* const record = frames_.find(frame);
  if (record == nullptr) return std::nullopt;
  return SimFrameInfo{.frame = frame,
                      .device = record->device,
                      .location = record->location,
                      .bytes = record->bytes};
}

std::optional<SimMapping> SimMemory::mapping_at(Address address) const {
  const auto found = holding(address.value());
  if (found == mappings_.end()) return std::nullopt;
  return SimMapping{.address = Address(found->first),
                    .bytes = Bytes(found->second.bytes),
                    .frame = *frame(found->second.frame),
                    .access = found->second.access};
}

Result<SimBytes> SimMemory::bytes_at(Address address, Bytes bytes, DeviceId device) const {
  const SimRange range = range_of(address, bytes);
  SimBytes found;
  for (std::uint64_t at = range.start; at < range.end();) {
    const auto mapping = holding(at);
    if (mapping == mappings_.end()) {
      return violation(fmt::format("{} is not mapped at {:#x}", range.to_string(), at));
    }
    const SimFrames::Frame& frame = *frames_.find(mapping->second.frame);
    const std::uint64_t may_use = std::uint64_t{1} << device.value() | std::uint64_t{1}
                                                                           << frame.device.value();
    if ((mapping->second.access & may_use) == 0) {
      return violation(fmt::format("device {} has no access to {} at {:#x}", device.value(),
                                   range.to_string(), at));
    }
    const std::uint64_t end = std::min(range.end(), mapping->first + mapping->second.bytes);
    if (at == range.start) found.location = frame.location;
    at = end;
  }
  found.bytes = {reinterpret_cast<std::byte*>(range.start), range.bytes};
  return found;
}

std::vector<std::string> SimMemory::leaks() const {
  std::vector<std::string> lines = frames_.leaks();
  for (const auto& [start, bytes] : ranges_) {
    lines.push_back(fmt::format("reserved range {}", SimRange{start, bytes}.to_string()));
  }
  return lines;
}

Status SimMemory::validate() const {
  TESSERA_TRY(frames_.validate());
  std::map<FrameId, std::uint64_t> counts;
  std::uint64_t end_before = 0;
  for (const auto& [start, mapping] : mappings_) {
    const SimFrames::Frame* const frame = frames_.find(mapping.frame);
    const auto after = ranges_.upper_bound(start);
    const bool inside = after != ranges_.begin() &&
                        start + mapping.bytes <= std::prev(after)->first + std::prev(after)->second;
    if (start < end_before || !inside || frame == nullptr ||
        frame->bytes.value() != mapping.bytes) {
      return {Code::kInternal, fmt::format("the mapping at {:#x} is not whole", start)};
    }
    end_before = start + mapping.bytes;
    ++counts[mapping.frame];
  }
  for (const auto& [frame, count] : counts) {
    if (frames_.find(frame)->mappings != count) {
      return {Code::kInternal, fmt::format("frame {:#x} miscounts its mappings", frame.value())};
    }
  }
  return {};
}

}  // namespace tessera
