#include "sim/sim_pins.hpp"

#include <iterator>

#include <fmt/core.h>

#include "driver/native_codes.hpp"

namespace tessera {

Status SimPins::add(const SimRange& range) {
  if (range.bytes == 0) {
    return {Code::kDriver, "register_host of 0 bytes", native::kInvalidValue};
  }
  const auto next = ranges_.lower_bound(range.end());
  if (next != ranges_.begin()) {
    const SimRange other{std::prev(next)->first, std::prev(next)->second};
    if (other.overlaps(range)) {
      return {Code::kDriver,
              fmt::format("register_host {}: {} is already registered", range.to_string(), other.to_string()),
              native::kHostMemoryAlreadyRegistered};
    }
  }
  ranges_[range.start] = range.bytes;
  return {};
}

Result<SimRange> SimPins::starting_at(const void* host) const {
  const auto found = ranges_.find(reinterpret_cast<std::uintptr_t>(host));
  if (found == ranges_.end()) {
    return Status(Code::kDriver, fmt::format("unregister_host {}: not registered", host),
                  native::kHostMemoryNotRegistered);
  }
  return SimRange{found->first, found->second};
}

bool SimPins::holds(const SimRange& range) const {
  const auto after = ranges_.upper_bound(range.start);
  if (after == ranges_.begin()) return false;
  const auto& [start, bytes] = *std::prev(after);
  return range.end() <= start + bytes;
}

std::vector<std::string> SimPins::leaks() const {
  std::vector<std::string> lines;
  for (const auto& [start, bytes] : ranges_) {
    lines.push_back(fmt::format("registered {}", SimRange{start, bytes}.to_string()));
  }
  return lines;
}

}  // namespace tessera
