// The places of kernels' parameters, each list once: most kernels of a program have one of a few.
//
// A list is never freed, so that it can be read without a lock while modules are unloaded. Their number is bounded.
//
// Thread safety: none; the lists themselves do not change.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "partly_filled.hpp"

namespace tessera::preload {

// A parameter large enough to contain an address; `index` is its position in kernelParams.
struct ParameterPlace {
  std::uint16_t index;
  PartlyFilled filled;
  std::uint32_t bytes;

  auto operator<=>(const ParameterPlace&) const = default;
};

class PlaceLists {
 public:
  static constexpr std::size_t kMost = 1 << 14;

  PlaceLists() = default;
  PlaceLists(const PlaceLists&) = delete;
  PlaceLists& operator=(const PlaceLists&) = delete;

  // None if it would be one too many.
  std::optional<std::span<const ParameterPlace>> kept(const std::vector<ParameterPlace>& places) {
    if (lists_.size() >= kMost && !lists_.contains(places)) return std::nullopt;
    return std::span<const ParameterPlace>(*lists_.insert(places).first);
  }

 private:
  std::set<std::vector<ParameterPlace>> lists_;
};

}  // namespace tessera::preload
