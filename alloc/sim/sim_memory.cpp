#include "sim/sim_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include <fmt/core.h>

#include "driver/native_codes.hpp"

namespace tessera {
namespace {

Status no_memory(std::string_view what, const SimRange& range) {
  return {Code::kOutOfMemory, fmt::format("{} {}: {}", what, range.to_string(), std::strerror(errno)),
          native::kOutOfMemory};
}

// As one with the last stretch, if it begins at its end.
void add_stretch(std::vector<SimRange>& stretches, const SimRange& next) {
  if (!stretches.empty() && stretches.back().end() == next.start) {
    stretches.back().bytes += next.bytes;
  } else {
    stretches.push_back(next);
  }
}

}  // namespace

SimMemory::SimMemory(const SimOptions& options)
    : options_(options), frames_(options), addresses_(make_addresses(options)) {}

SimMemory::~SimMemory() {
  for (const auto& [start, bytes] : ranges_) addresses_->release({start, bytes});
}

Status SimMemory::check_shape(std::string_view action, const SimRange& range) const {
  const std::uint64_t unit = options_.granularity.value();
  if (range.bytes == 0 || range.start % unit != 0 || range.bytes % unit != 0 || range.end() < range.start) {
    return violation(fmt::format("{} {}: not multiples of the granularity, {:#x}", action, range.to_string(), unit));
  }
  return {};
}

// ---- ranges ----------------------------------------------------------------------------------

Result<Address> SimMemory::reserve(Bytes bytes, Bytes alignment, Address hint) {
  const std::uint64_t unit = options_.granularity.value();
  const std::uint64_t align = std::max(alignment.value(), unit);
  TESSERA_TRY(check_shape("reserve", {0, bytes.value()}));
  if ((align & (align - 1)) != 0) {
    return violation(fmt::format("reserve: alignment {:#x} is not a power of two", align));
  }
  const std::uint64_t slack = bytes.value() + align;
  if (slack < align) return violation("reserve: more bytes than the address space");
  return note_reserved(addresses_->reserve(bytes.value(), options_.aligns ? align : unit, hint.value()), bytes);
}

Result<Address> SimMemory::reserve_beside_host(Bytes bytes) {
  TESSERA_TRY(check_shape("reserve", {0, bytes.value()}));
  return note_reserved(addresses_->reserve_beside_host(bytes.value(), options_.granularity.value()), bytes);
}

Result<Address> SimMemory::note_reserved(std::optional<std::uint64_t> start, Bytes bytes) {
  if (!start) return no_memory("reserve", {0, bytes.value()});
  ranges_[*start] = bytes.value();
  return Address(*start);
}

Status SimMemory::release(Address address, Bytes bytes) {
  const SimRange range = range_of(address, bytes);
  const auto found = ranges_.find(range.start);
  if (found == ranges_.end() || found->second != range.bytes) {
    return violation(fmt::format("release {}, which was not reserved", range.to_string()));
  }
  const auto mapping = mappings_.lower_bound(range.start);
  if (mapping != mappings_.end() && mapping->first < range.end()) {
    return violation(fmt::format("release {} while frame {:#x} is mapped at {:#x}", range.to_string(),
                                 mapping->second.frame->id.value(), mapping->first));
  }
  if (!addresses_->release(range)) return no_memory("release", range);
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
  SimFrames::Frame* const record = frames_.find(frame);
  if (record == nullptr || record->owners == 0) {
    return {Code::kDriver, fmt::format("map of frame {:#x}, which does not exist", frame.value()),
            native::kInvalidHandle};
  }
  if (record->bytes != bytes) {
    return {Code::kNotSupported,
            fmt::format("map {}: frame {:#x} has {:#x} bytes", range.to_string(), frame.value(), record->bytes.value()),
            native::kNotSupported};
  }
  const auto after = ranges_.upper_bound(range.start);
  if (after == ranges_.begin() || std::prev(after)->first + std::prev(after)->second < range.end()) {
    return violation(fmt::format("map {}: not within one reserved range", range.to_string()));
  }
  const auto next = mappings_.lower_bound(range.end());
  if (next != mappings_.begin()) {
    const auto& [start, other] = *std::prev(next);
    if (start + other.bytes > range.start) {
      return violation(fmt::format("map of frame {:#x} at {}: frame {:#x} is mapped at {:#x}", frame.value(),
                                   range.to_string(), other.frame->id.value(), start));
    }
  }
  add(range.start, Mapping{.bytes = range.bytes, .frame = record}, next);
  SimFrames::add_mapping(*record);
  return {};
}

Result<SimMemory::Mappings::iterator> SimMemory::covering(std::string_view action, const SimRange& range) {
  const auto first = mappings_.find(range.start);
  std::uint64_t reached = range.start;
  for (auto at = first; at != mappings_.end() && at->first == reached && reached < range.end(); ++at) {
    reached += at->second.bytes;
  }
  if (reached == range.end()) return first;
  const auto mapping = mapping_at(Address(reached > range.end() ? range.end() : reached));
  if (mapping) {
    return violation(fmt::format("{} {} covers only part of the mapping {}", action, range.to_string(),
                                 range_of(mapping->address, mapping->bytes).to_string()));
  }
  return violation(fmt::format("{} {}: nothing is mapped at {:#x}", action, range.to_string(), reached));
}

Status SimMemory::set_access(Address address, Bytes bytes, DeviceId device) {
  const SimRange range = range_of(address, bytes);
  TESSERA_TRY(check_shape("set_access", range));
  TESSERA_TRY_ASSIGN(const auto first, covering("set_access", range));
  for (auto at = first; at != mappings_.end() && at->first < range.end(); ++at) {
    TESSERA_TRY(check_reach(device, *at->second.frame));
  }
  for (auto at = first; at != mappings_.end() && at->first < range.end(); ++at) {
    const Mapping& mapping = at->second;
    if (mapping.access != 0) continue;
    if (frames_.show(*mapping.frame, pointer(at->first))) continue;
    Status status = no_memory("set_access", range);
    // Close again what was opened before the failure.
    for (auto opened = first; opened != std::next(at); ++opened) {
      if (opened->second.access == 0) addresses_->close({opened->first, opened->second.bytes});
    }
    return status;
  }
  for (auto at = first; at != mappings_.end() && at->first < range.end(); ++at) {
    at->second.access |= std::uint64_t{1} << device.value();
  }
  return {};
}

Status SimMemory::check_reach(DeviceId device, const SimFrames::Frame& frame) const {
  const std::pair pair(static_cast<int>(device.value()), static_cast<int>(frame.device.value()));
  const bool apart = std::ranges::find(options_.apart, pair) != options_.apart.end();
  if (!apart || frame.location == FrameLocation::kHost) return {};
  return {Code::kDriver, fmt::format("set_access: device {} has no link to device {}", pair.first, pair.second),
          native::kInvalidDevice};
}

Status SimMemory::unmap(Address address, Bytes bytes) {
  const SimRange range = range_of(address, bytes);
  TESSERA_TRY(check_shape("unmap", range));
  TESSERA_TRY_ASSIGN(auto mapping, covering("unmap", range));
  for (auto at = mapping; at != mappings_.end() && at->first < range.end(); ++at) {
    if (at->second.access == 0) continue;
    if (!frames_.hide(*at->second.frame, pointer(at->first))) return no_memory("unmap", range);
  }
  // Until here the bytes remain visible, only more slowly, so a failure changes nothing.
  if (!addresses_->close(range)) return no_memory("unmap", range);
  while (mapping != mappings_.end() && mapping->first < range.end()) {
    frames_.remove_mapping(*mapping->second.frame);
    mapping = remove(mapping);
  }
  return {};
}

void SimMemory::add(std::uint64_t start, const Mapping& mapping, Mappings::iterator next) {
  if (spare_.empty()) {
    mappings_.emplace_hint(next, start, mapping);
    return;
  }
  auto node = std::move(spare_.back());
  spare_.pop_back();
  node.key() = start;
  node.mapped() = mapping;
  mappings_.insert(next, std::move(node));
}

SimMemory::Mappings::iterator SimMemory::remove(Mappings::iterator mapping) {
  const auto behind = std::next(mapping);
  spare_.push_back(mappings_.extract(mapping));
  return behind;
}

// ---- queries ---------------------------------------------------------------------------------

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
                      .bytes = record->bytes,
                      .offset = record->offset,
                      .shareable = record->shareable};
}

std::optional<SimMapping> SimMemory::mapping_at(Address address) const {
  const auto found = holding(address.value());
  if (found == mappings_.end()) return std::nullopt;
  return SimMapping{.address = Address(found->first),
                    .bytes = Bytes(found->second.bytes),
                    .frame = *frame(found->second.frame->id),
                    .access = found->second.access};
}

Result<SimBytes> SimMemory::bytes_at(Address address, Bytes bytes, DeviceId device) const {
  const SimRange range = range_of(address, bytes);
  SimBytes found{.bytes = addresses_->bytes(range)};
  auto mapping = holding(range.start);
  for (std::uint64_t at = range.start; at < range.end(); ++mapping) {
    if (mapping == mappings_.end() || mapping->first > at) {
      return violation(fmt::format("{} is not mapped at {:#x}", range.to_string(), at));
    }
    const SimFrames::Frame& frame = *mapping->second.frame;
    std::uint64_t may_use = std::uint64_t{1} << device.value();
    if (frame.location == FrameLocation::kDevice) may_use |= std::uint64_t{1} << frame.device.value();
    if ((mapping->second.access & may_use) == 0) {
      return violation(fmt::format("device {} has no access to {} at {:#x}", device.value(), range.to_string(), at));
    }
    if (at == range.start) {
      found.location = frame.location;
      found.device = frame.device;
    }
    const std::uint64_t end = std::min(mapping->first + mapping->second.bytes, range.end());
    if (frame.location == FrameLocation::kHost) add_stretch(found.in_host, {at, end - at});
    at = end;
  }
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
    const SimFrames::Frame* const frame = frames_.find(mapping.frame->id);
    const auto after = ranges_.upper_bound(start);
    const bool inside =
        after != ranges_.begin() && start + mapping.bytes <= std::prev(after)->first + std::prev(after)->second;
    if (start < end_before || !inside || frame == nullptr || frame->bytes.value() != mapping.bytes) {
      return {Code::kInternal, fmt::format("the mapping at {:#x} is incomplete", start)};
    }
    end_before = start + mapping.bytes;
    ++counts[mapping.frame->id];
  }
  for (const auto& [frame, count] : counts) {
    if (frames_.find(frame)->mappings != count) {
      return {Code::kInternal, fmt::format("frame {:#x} miscounts its mappings", frame.value())};
    }
  }
  return {};
}

}  // namespace tessera
