// Placement of the simulated machine's reserved ranges, and the effect of accessing them.
//
// Two kinds: ranges of this process, in which an address without a frame faults, and plain numbers, which cannot be
// accessed. SimMemory tracks which ranges exist.
//
// Thread safety: none; the owner locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "sim/sim_options.hpp"
#include "sim/sim_work.hpp"

namespace tessera {

class SimAddresses {
 public:
  virtual ~SimAddresses() = default;

  // The start of a new range, a multiple of `alignment`: at `hint` if that is not 0, is free and is honoured, else at a
  // low address, like a real driver. Nothing, with errno, when none is left.
  virtual std::optional<std::uint64_t> reserve(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t hint) = 0;
  // Among the process's own mappings, where the memory of cuMemAlloc is.
  virtual std::optional<std::uint64_t> reserve_beside_host(std::uint64_t bytes, std::uint64_t alignment) = 0;
  // False, with errno, when the system refuses. REQUIRES: reserve() returned the range.
  virtual bool release(const SimRange& range) = 0;
  // From now on an access faults. False, with errno, when the system refuses. REQUIRES: reserved.
  virtual bool close(const SimRange& range) = 0;
  // The bytes that work may move there; empty where there are no contents.
  virtual std::span<std::byte> bytes(const SimRange& range) const = 0;
};

std::unique_ptr<SimAddresses> make_addresses(const SimOptions& options);

}  // namespace tessera
