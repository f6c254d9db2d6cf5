// What the driver calls cost that remap memory: creating and destroying frames, mapping, setting access, unmapping.
//
// The prices are the medians of an H100 (bench/results/gpu/2026-11-26-nvidia-h100-80gb-hbm3/first_light.json,
// cost_of_device_frames). It was asked for 2 and 32 MiB; on an H200, access and unmapping cost as much for 16 MiB as
// for 2 (remap_beside_copies), so all sizes below 32 MiB have the price of 2. Access and unmapping cost by the mapping
// there, and not by the call: one call over sixteen takes as long as sixteen (cost_of_calls_over_many). So a call is
// priced by the mappings in its range.
//
// Thread safety: none; one thread measures.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>

#include "base/page_class.hpp"
#include "sim/trace_driver.hpp"

namespace tessera::bench {

// Microseconds for a frame, by its class.
struct Price {
  DriverCall call;
  const char* name;
  double small, large;

  constexpr double of(Bytes bytes) const { return bytes == kLargePage ? large : small; }
};
inline constexpr std::array<Price, 5> kPrices = {{{DriverCall::kCreateFrame, "create", 8.2, 8.1},
                                                  {DriverCall::kDestroyFrame, "destroy", 10.1, 23.6},
                                                  {DriverCall::kMap, "map", 0.6, 0.6},
                                                  {DriverCall::kSetAccess, "access", 20.2, 33.6},
                                                  {DriverCall::kUnmap, "unmap", 14.4, 21.4}}};

// Knows which frames exist and where they are mapped, from the records of all calls of a driver.
class Remapping {
 public:
  struct Costs {
    std::array<std::uint64_t, kPrices.size()> calls{};  // in the order of kPrices
    double microseconds = 0;
  };

  // Calls that failed count as nothing. REQUIRES: every call before it was noted.
  void note(const DriverRecord& record);
  // Of the calls since the last begin().
  const Costs& costs() const { return costs_; }
  void begin() { costs_ = {}; }

 private:
  std::unordered_map<std::uint64_t, std::uint64_t> frames_;  // bytes, by handle
  std::map<std::uint64_t, std::uint64_t> mapped_;            // bytes, by address
  Costs costs_;
};

}  // namespace tessera::bench
