// One piece of work queued on a simulated device: its effect, and the memory that it may access.
//
// Thread safety: a value; run() is called once, by one engine thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "base/units.hpp"

namespace tessera {

// Device or host addresses: the simulated device has a single address space.
struct SimRange {
  std::uint64_t start = 0;
  std::uint64_t bytes = 0;

  std::uint64_t end() const { return start + bytes; }
  bool holds(std::uint64_t address) const { return address >= start && address - start < bytes; }
  bool overlaps(const SimRange& other) const { return start < other.end() && other.start < end(); }
  std::string to_string() const;
};

inline SimRange range_of(Address address, Bytes bytes) { return {address.value(), bytes.value()}; }
inline SimRange range_of(const void* host, Bytes bytes) {
  return {reinterpret_cast<std::uintptr_t>(host), bytes.value()};
}
inline void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }

// The documented driver's answer to a call that breaks its rules; the message names the rule.
Status violation(std::string message);

struct SimWork {
  const char* name = "";                      // "copy_in", or the kernel's; outlives the work
  std::vector<SimRange> ranges;               // what it reads and writes
  std::vector<std::byte> parameters;          // of a kernel: any aligned word of them may be an address
  std::shared_ptr<const void> keeps;          // memory that the work reads and owns
  Nanoseconds time{};                         // minimum duration
  std::function<Status(const SimWork&)> run;  // may be empty: then it only takes time

  // Whether this work may access the range. Called for all queued work at every unmap.
  bool touches(const SimRange& range) const;
  // The operand that accesses it, as text for a message.
  std::optional<std::string> touch(const SimRange& range) const;
};

inline bool SimWork::touches(const SimRange& range) const {
  for (const SimRange& own : ranges) {
    if (own.overlaps(range)) return true;
  }
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= parameters.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, parameters.data() + at, sizeof(word));
    if (range.holds(word)) return true;
  }
  return false;
}

}  // namespace tessera
