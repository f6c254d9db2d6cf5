// Where the simulated machine's reserved ranges lie, and what a touch of them does.
//
// Two kinds: ranges of this process, in which an address without a frame faults, and numbers, which
// nobody can touch. Which ranges exist is SimMemory's to know.
//
// Thread safety: none; the owner locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "driver/sim_options.hpp"
#include "driver/sim_work.hpp"

namespace tessera {

class SimAddresses {
 public:
  virtual ~SimAddresses() = default;

  // The start of a new range, a multiple of `alignment`. Nothing, with errno, when none is left.
  virtual std::optional<std::uint64_t> reserve(std::uint64_t bytes, std::uint64_t alignment) = 0;
  // False, with errno, when the system refuses. REQUIRES: reserve() gave the range.
  virtual bool release(const SimRange& range) = 0;
  // From now on a touch faults. False, with errno, when the system refuses. REQUIRES: reserved.
  virtual bool close(const SimRange& range) = 0;
  // What work may move there; empty where there are no bytes.
  virtual std::span<std::byte> bytes(const SimRange& range) const = 0;
};

std::unique_ptr<SimAddresses> make_addresses(SimContents contents);

}  // namespace tessera
