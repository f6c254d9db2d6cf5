// Tracks a program's position in a period that it repeats.
//
// The first launch that deviates from the period loses the position. It is found again by its context, so a
// break (a validation step, a smaller last batch) costs kContext launches.
//
// Thread safety: none; the owner locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "planning/launch_context.hpp"

namespace tessera {

class PeriodPlace {
 public:
  // Launch number `last` of the period was the latest one. REQUIRES: `signatures` is not empty.
  PeriodPlace(std::vector<std::uint64_t> signatures, std::size_t last);

  // Notes the next launch, and the context of the last kContext launches if there were that many.
  void note(std::uint64_t signature, std::optional<std::uint64_t> context);
  void lose() { position_.reset(); }

  const std::vector<std::uint64_t>& signatures() const { return signatures_; }
  // The position of the latest launch, if it follows the period.
  std::optional<std::size_t> position() const { return position_; }

 private:
  std::vector<std::uint64_t> signatures_;
  std::unordered_map<std::uint64_t, std::size_t> places_;  // context -> position of its last launch
  std::optional<std::size_t> position_;
};

}  // namespace tessera
